/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last hours, in memory of a fixed size: each interval, the minutes, and the periods of ten
 * minutes, as many of each.
 */
#ifndef DWELL_SERVE_PERIODS_H
#define DWELL_SERVE_PERIODS_H

#include "base/output.h"
#include "model/counters.h"

#define PERIODS_LEVELS 3
#define PERIODS_KEPT   720 /* periods of each level */

struct periods {
	struct periods_level {
		uint64_t length_ns; /* of a period, at least; 0: an interval */
		uint64_t start_ns;  /* of the present one, CLOCK_MONOTONIC; 0: none yet */
		uint64_t start_realtime_ns;
		struct kept_period {
			char *json; /* an object of serve_period_schema */
			size_t length;
			uint64_t start_realtime_ns, end_realtime_ns;
		} kept[PERIODS_KEPT]; /* a ring */
		size_t count;
		size_t next;
	} levels[PERIODS_LEVELS];
};

void periods_init(struct periods *periods);
void periods_release(struct periods *periods);

/* After counters_add(), of counters with PERIODS_LEVELS marks. 0 or -ENOMEM. */
int periods_add(struct periods *periods, struct counters *counters,
		const struct interval *interval) must_check;

/*
 * The periods that overlap the time from `from_ns` to `to_ns` (CLOCK_REALTIME; 0: open), as a JSON
 * array, the oldest first: of the level whose periods are the longest that are not longer than
 * `step_ns`.
 */
void periods_write(const struct periods *periods, struct output *out, uint64_t step_ns,
		   uint64_t from_ns, uint64_t to_ns);

#endif
