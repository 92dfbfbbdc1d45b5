/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each worker did, and when: for lanes along a time axis. Pure, and in fixed memory: of stalls
 * and of intervals only the last ones are kept.
 */
#ifndef DWELL_MODEL_TIMELINE_H
#define DWELL_MODEL_TIMELINE_H

#include "model/stalls.h"

enum timeline_kind {
	TIMELINE_UNKNOWN, /* before it was looked at, or too long ago */
	TIMELINE_IDLE,	  /* it did not run */
	TIMELINE_RUNNING, /* without a stall */
	TIMELINE_STALLED,
};

/* A part of a lane. */
struct timeline_cell {
	enum timeline_kind kind;
	enum stall_cause cause; /* of most of the stalls' time in it */
	double on_cpu;		/* share of it, 0 to 1 */
};

struct timeline;

/* Room for as many stalls of all workers, and intervals of each. NULL: out of memory. */
struct timeline *timeline_new(size_t stalls, size_t intervals);
void timeline_free(struct timeline *timeline);

void timeline_add_stall(struct timeline *timeline, const struct stall *stall);

/* What the workers did in an interval by thread. 0 or -ENOMEM. */
int timeline_add_interval(struct timeline *timeline, const struct interval *interval,
			  const struct stall_worker *workers, size_t count) must_check;

/* The end of the last interval, ns as in its times; 0: none yet. */
uint64_t timeline_end_ns(const struct timeline *timeline);

/* The beginning of the oldest that is kept. */
uint64_t timeline_start_ns(const struct timeline *timeline);

/* The lane of a worker in `count` parts of `cell_ns` each, from `from_ns` on. */
void timeline_cells(const struct timeline *timeline, const struct stall_worker *worker,
		    uint64_t from_ns, uint64_t cell_ns, struct timeline_cell *cells, size_t count);

#endif
