// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/snapshot.h"

#include "base/clock.h"
#include "base/duration.h"

/* Long enough for a dying thread that lost its CPU to get it back, short enough to be no hang. */
#define ENDS_TIMEOUT_MS 50

int snapshot_take(struct source *source, const struct intervals *intervals, bool final,
		  struct error *error)
{
	int result = source_begin(source, final, error), more = 1;
	uint64_t deadline_ns = clock_monotonic_ns() + ENDS_TIMEOUT_MS * NS_PER_MS;

	while (result >= 0 && more &&
	       (intervals_missing(intervals) || (final && source_leaving(source))) &&
	       clock_monotonic_ns() < deadline_ns)
		more = result = source_await(source, ENDS_TIMEOUT_MS, error);
	/* what was sent just before the last look */
	if (result >= 0 && final)
		result = source_await(source, 0, error);
	return result < 0 ? result : source_end(source, error);
}
