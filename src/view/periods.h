/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counters have counted in each of many periods, in memory of a fixed size: of several
 * lengths, as many of each.
 */
#ifndef DWELL_VIEW_PERIODS_H
#define DWELL_VIEW_PERIODS_H

#include "base/output.h"
#include "model/counters.h"

#define PERIODS_LEVELS 3
#define PERIODS_KEPT   720 /* periods of each level */

struct periods {
	struct periods_level {
		uint64_t length_ns; /* of a period, at least; 0: an interval */
		uint64_t start_ns;  /* of the present one, CLOCK_MONOTONIC; 0: none yet */
		uint64_t end_ns;    /* so far */
		uint64_t start_realtime_ns;
		struct kept_period {
			char *packed; /* gzip_pack() of an object of serve_period_schema */
			size_t packed_length, length;
			uint64_t start_realtime_ns, end_realtime_ns;
		} kept[PERIODS_KEPT]; /* a ring */
		size_t count;
		size_t next;
	} levels[PERIODS_LEVELS];
	size_t level_count;
};

/* The shortest first; up to PERIODS_LEVELS. */
void periods_init(struct periods *periods, const uint64_t *lengths_ns, size_t count);
void periods_release(struct periods *periods);

/*
 * Counts an interval: counters_add(), of counters with a mark for each length. Where the interval
 * does not begin when the last one ended, periods end there, too. 0 or -ENOMEM.
 */
int periods_add(struct periods *periods, struct counters *counters,
		const struct interval *interval) must_check;

/* Ends the periods that go on. 0 or -ENOMEM. */
int periods_end(struct periods *periods, struct counters *counters) must_check;

/*
 * The periods that overlap the time from `from_ns` to `to_ns` (CLOCK_REALTIME; 0: open), as a JSON
 * array, the oldest first: of the level whose periods are the longest that are not longer than
 * `step_ns`.
 */
void periods_write(const struct periods *periods, struct output *out, uint64_t step_ns,
		   uint64_t from_ns, uint64_t to_ns);

#endif
