/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait for each other's locks in a circle: none of them will ever go on. */
#ifndef DWELL_MODEL_DEADLOCK_H
#define DWELL_MODEL_DEADLOCK_H

#include "model/blame.h"

#define DEADLOCK_NAMED 4

struct deadlock {
	/* the first ones of the circle: each waits for a lock of the next, the last of the first */
	struct blame_party threads[DEADLOCK_NAMED];
	size_t count;	   /* of the whole circle; 1: a lock of its own; 0: there is none */
	uint64_t total_ns; /* that they lost by it in the interval */
	uint64_t for_ns;   /* all of them have been waiting for so long */
};

/* Of an interval by thread, with its blame: the circle that costs most. 0 or -ENOMEM. */
int deadlock_find(struct deadlock *ret_deadlock, const struct interval *interval) must_check;

#endif
