/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much time threads spent in each state, over a recording of any length: in up to BATCHES_MAX
 * periods of as many intervals each.
 */
#ifndef DWELL_MODEL_COURSE_H
#define DWELL_MODEL_COURSE_H

#include "model/batches.h"
#include "model/interval.h"

/* All zeros is empty. */
struct course {
	struct batches periods;
	uint64_t start_realtime_ns[BATCHES_MAX];
	struct series states[STATES];
};

void course_add(struct course *course, const struct interval *interval);

/* How many threads were in the state in a period, on average. */
double course_threads(const struct course *course, enum state state, unsigned int period);

/* Over all periods. */
double course_mean(const struct course *course, enum state state);

/* The period in which it was most: the first of several. */
unsigned int course_peak(const struct course *course, enum state state);

#endif
