/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom the workers of a load waited, by their groups: its crews. */
#ifndef DWELL_MODEL_BLAME_CREWS_H
#define DWELL_MODEL_BLAME_CREWS_H

#include "model/blame.h"

/* A worker that lived in the interval. */
struct crew_member {
	uint32_t tid;
	uint32_t crew; /* from 0 on */
	size_t number; /* the caller's */
};

/* In the order that the functions below need. No tid twice. */
void crew_members_sort(struct crew_member *members, size_t count);

/* NULL: none of them. */
const struct crew_member *crew_members_find(const struct crew_member *members, size_t count,
					    uint32_t tid);

/*
 * Keeps the members as victims, and of their states those in which time is lost. A culprit that is
 * a member, or a thread or the rest of its process, becomes its crew; any other one its process's
 * name. Adding the result to a blame_sum sums it up.
 */
void interval_blame_by_crew(struct interval *interval, const struct crew_member *members,
			    size_t count);

/*
 * In place of blame_sum_end(), when all members have ended: by crew, the largest first, without
 * what is of no length.
 */
void blame_sum_end_crews(struct blame_sum *sum);

#endif
