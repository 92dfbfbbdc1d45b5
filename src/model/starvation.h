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
/* To read it while more is to come. */
void starvation_merge(struct starvation *starvation);
/* After the last interval. */
void starvation_end(struct starvation *starvation);
void starvation_release(struct starvation *starvation);

/* Processes of one name, or one kind of other culprits. */
struct starved_by {
	const struct blame *first;
	uint64_t total_ns;
	size_t processes;
};

#define STARVED_BY_MAX 64

/*
 * The largest first; what finds no room is `ret_rest_ns`. The threads of `process`, whose workers
 * they are, are not another process of that name. After starvation_end(), or starvation_merge().
 */
size_t starvation_names(const struct starvation *starvation, uint32_t process,
			struct starved_by names[STARVED_BY_MAX], uint64_t *ret_rest_ns);

/* All that they waited for a CPU. */
uint64_t starvation_total(const struct starvation *starvation);

#endif
