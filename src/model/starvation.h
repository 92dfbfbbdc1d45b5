/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom the workers of a runtime waited for a CPU. Pure, as stalls.h. */
#ifndef DWELL_MODEL_STARVATION_H
#define DWELL_MODEL_STARVATION_H

#include "model/blame.h"
#include "model/blame_sum.h"
#include "model/stalls.h"

/* All zeros is empty. */
struct starvation {
	bool measured;	      /* there was an interval with blame */
	struct blame_sum sum; /* after starvation_end(): by process, the largest first */
};

/*
 * After stalls_add_interval(). Takes the interval's blame apart; one without blame changes nothing.
 * 0 or -ENOMEM.
 */
int starvation_add(struct starvation *starvation, struct stalls *stalls,
		   struct interval *interval) must_check;
/* After the last interval. */
void starvation_end(struct starvation *starvation);
void starvation_release(struct starvation *starvation);

/* All that they waited for a CPU. */
uint64_t starvation_total(const struct starvation *starvation);

#endif
