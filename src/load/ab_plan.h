/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How `dwell load --ab` runs two specs: in pairs, in an order drawn by lot, and with looks at what
 * is known in between, after which it may end. Each look may be wrong, so the probability of a
 * wrong answer is divided among them (Bonferroni): together they are wrong as seldom as one.
 */
#ifndef DWELL_LOAD_AB_PLAN_H
#define DWELL_LOAD_AB_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "load/spec.h"

#define AB_PAIRS_DEFAULT 20
#define AB_PAIRS_MAX	 1000
#define AB_LOOKS_MAX	 24

struct ab_plan {
	unsigned int pairs;		  /* at most */
	unsigned int looks[AB_LOOKS_MAX]; /* after so many pairs; the last is `pairs` */
	unsigned int look_count;
	double alpha; /* of a look */
};

/* 1 to AB_PAIRS_MAX pairs. Looks are at numbers that double about every other time. */
void ab_plan_make(struct ab_plan *plan, unsigned int pairs);

bool ab_plan_looks(const struct ab_plan *plan, unsigned int pairs);

/*
 * Whether runs of the two may have a group in common: work of one type, and in one cgroup, unless
 * ops move it. Where they have none there is nothing to compare.
 */
bool ab_plan_can_compare(const struct spec *a, const struct spec *b);

/*
 * Whether B runs first in a pair, from 0 on. Of each two pairs it is first in one, drawn by lot: A
 * B B A or B A A B, so that what goes on steadily meets both alike.
 */
bool ab_plan_begins_with_b(uint64_t seed, unsigned int pair);

#endif
