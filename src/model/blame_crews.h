/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom the workers of a load waited, by their groups: its crews. */
#ifndef DWELL_MODEL_BLAME_CREWS_H
#define DWELL_MODEL_BLAME_CREWS_H

#include "model/blame.h"
#include "model/blame_sum.h"

/* A worker that lived in the interval. */
struct crew_member {
	uint32_t tid;
	uint32_t crew; /* from 0 on */
	size_t number; /* the caller's */
	bool adopted;  /* a process that a member made: its time is the crew's, its waits are not */
};

/* In the order that the functions below need. No tid twice. */
void crew_members_sort(struct crew_member *members, size_t count);

/* NULL: none of them. */
const struct crew_member *crew_members_find(const struct crew_member *members, size_t count,
					    uint32_t tid);

/*
 * Adds the processes that members, or processes of theirs, made, as far as the interval has them:
 * it has their parents. `members` has room for a member more for each row. How many there are then.
 */
size_t crew_members_adopt(struct crew_member *members, size_t count,
			  const struct interval *interval);

/*
 * Keeps the members as victims, and of their states those in which time is lost. A culprit that is
 * a member, adopted or not, or a thread of its process, becomes its crew, any other one the name of
 * its process. blame_sum adds up the result.
 */
void interval_blame_by_crew(struct interval *interval, const struct crew_member *members,
			    size_t count);

/*
 * In place of blame_sum_end(), when all members have ended: by crew, the largest first, without
 * what is of no length.
 */
void blame_sum_end_crews(struct blame_sum *sum);

#endif
