/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blame summed up: by process or cgroup, and over many intervals. */
#ifndef DWELL_MODEL_BLAME_SUM_H
#define DWELL_MODEL_BLAME_SUM_H

#include "model/blame.h"
#include "model/group.h"

/* Below, at or above zero, for an order in which the same party is one. */
int blame_compare_parties(const struct blame_party *a, const struct blame_party *b);

/*
 * The blame of many intervals by process, with waits whole: what went on at the end of one interval
 * is owed to who ended it in a later one. All zeros is empty.
 */
struct blame_sum {
	struct blame *items;
	size_t count, room;
	size_t merged;	    /* so many there were after the last time that equals were merged */
	uint64_t folded_ns; /* of shares that were too many to be kept, the smallest */
};

/* 0 or -ENOMEM. */
int blame_sum_add(struct blame_sum *sum, const struct interval *interval) must_check;
/* Before it is read while more is to come: equals become one. */
void blame_sum_merge(struct blame_sum *sum);
/* After the last interval: `items` is as an interval's blame, grouped by process. */
void blame_sum_end(struct blame_sum *sum);
void blame_sum_release(struct blame_sum *sum);

/*
 * Sums up victims, and culprits, by process or by cgroup, in place. BY_THREAD changes nothing. By
 * process, who held a victim's lock among its own threads stays known by name: `culprit.comm`. By
 * cgroup, culprits whose cgroup is not known are summed up by the names of their processes there.
 */
void interval_group_blame(struct interval *interval, enum grouping by);

/* Of blame by process: threads of the victim's own, by their name. */
static inline bool blame_has_holder(const struct blame *blame)
{
	return blame->state == STATE_LOCK && blame->kind == WIRE_CULPRIT_THREAD &&
	       !blame->culprit.tid && blame->culprit.pid && blame->culprit.pid == blame->victim.pid;
}

#endif
