/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom the workers of a load waited, by their groups. */
#ifndef DWELL_MODEL_BLAME_WORKERS_H
#define DWELL_MODEL_BLAME_WORKERS_H

#include "model/blame.h"
#include "model/blame_sum.h"

/* A worker that lived in the interval. */
struct group_member {
	uint32_t tid;
	uint32_t group; /* from 0 on */
	size_t number;	/* the caller's */
	bool adopted; /* a process that a member made: its time is the group's, its waits are not */
};

/* In the order that the functions below need. No tid twice. */
void group_members_sort(struct group_member *members, size_t count);

/* NULL: none of them. */
const struct group_member *group_members_find(const struct group_member *members, size_t count,
					      uint32_t tid);

/*
 * Adds the processes that members, or processes of theirs, made, as far as the interval has them:
 * it has their parents. `members` has room for a member more for each row. How many there are then.
 */
size_t group_members_adopt(struct group_member *members, size_t count,
			   const struct interval *interval);

/*
 * Keeps the members as victims, and of their states those in which time is lost. A culprit that is
 * a member, adopted or not, or a thread of its process, becomes its group, any other one the name
 * of its process. blame_sum adds up the result.
 */
void interval_blame_of_workers(struct interval *interval, const struct group_member *members,
			       size_t count);

/*
 * In place of blame_sum_end(), when all members have ended: by group, the largest first, without
 * what is of no length.
 */
void blame_sum_end_workers(struct blame_sum *sum);

#endif
