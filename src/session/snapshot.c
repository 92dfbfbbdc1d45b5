// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/snapshot.h"

#include "base/clock.h"
#include "base/duration.h"

/*
 * Long enough for a dying thread that lost its CPU to get it back, short enough to be no hang. What
 * is late belongs to the next interval; after the last there is none.
 */
#define ENDS_TIMEOUT_MS	      50
#define FINAL_ENDS_TIMEOUT_MS 500

int snapshot_take(struct source *source, const struct intervals *intervals, bool final,
		  struct error *error)
{
	int result = source_begin(source, final, error), more = 1;
	int timeout_ms = final ? FINAL_ENDS_TIMEOUT_MS : ENDS_TIMEOUT_MS;
	uint64_t deadline_ns = clock_monotonic_ns() + (uint64_t)timeout_ms * NS_PER_MS;

	while (result >= 0 && more &&
	       (intervals_missing(intervals, final) || (final && source_leaving(source))) &&
	       clock_monotonic_ns() < deadline_ns)
		more = result = source_await(source, timeout_ms, error);
	/* what was sent just before the last look */
	if (result >= 0 && final)
		result = source_await(source, 0, error);
	return result < 0 ? result : source_end(source, intervals_missing(intervals, final), error);
}
