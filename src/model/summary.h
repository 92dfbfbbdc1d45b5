/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many intervals as one: what each thread did in all of them. In hours of builds there are millions
 * of threads: of those that have ended the least active are summed up by name
 * and cgroup.
 */
#ifndef DWELL_MODEL_SUMMARY_H
#define DWELL_MODEL_SUMMARY_H

#include "base/identities.h"
#include "model/blame.h"
#include "model/blame_sum.h"
#include "model/course.h"
#include "model/deadlock.h"
#include "model/interval.h"

#define WORST_INTERVALS 10

/* An interval, and how much its threads lost: with blame in waits that have ended. */
struct worst_interval {
	uint64_t start_realtime_ns, duration_ns, lost_ns;
	struct blame most; /* of that; total_ns 0: none */
};

/* All zeros is empty. */
struct summary {
	struct interval whole; /* rows by thread; its rows are the summary's */
	uint64_t intervals;
	uint64_t
		measured_ns; /* sum of the intervals: less than whole.end - start where some miss */
	struct identities identities;
	size_t row_room;
	size_t exited; /* rows of threads that have ended */
	struct row *folded;
	size_t folded_count, folded_room;
	uint64_t folded_threads;
	struct blame_sum blame;			      /* of sessions that have it */
	bool has_blame;				      /* the last one */
	struct worst_interval worst[WORST_INTERVALS]; /* the worst first */
	size_t worst_count;
	struct course course;
	struct deadlock deadlock; /* of the last interval that had one */
	const char *damage;	  /* what of the recording could not be read; NULL: nothing */
};

/* Takes an interval by thread. 0 or -ENOMEM. */
int summary_add(struct summary *summary, const struct interval *interval) must_check;

/* After the last interval: whole.rows has all there is. 0 or -ENOMEM. */
int summary_end(struct summary *summary) must_check;
void summary_release(struct summary *summary);

#endif
