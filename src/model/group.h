/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads summed up by process or by cgroup. */
#ifndef DWELL_MODEL_GROUP_H
#define DWELL_MODEL_GROUP_H

#include "model/interval.h"

/* What a row stands for: number, name in options, heading, plural. */
#define GROUPINGS(X)                                                                               \
	X(THREAD, "thread", "threads")                                                             \
	X(PROCESS, "process", "processes")                                                         \
	X(CGROUP, "cgroup", "cgroups")

enum grouping {
#define X(name, key, plural) BY_##name,
	GROUPINGS(X)
#undef X
		GROUPINGS_COUNT,
};

extern const char *const grouping_keys[GROUPINGS_COUNT];

/* The word for so many: "thread", "threads". */
const char *grouping_noun(enum grouping by, size_t count);

/* Adds what a row counted to a sum; who it is stays as it is. */
void row_add(struct row *sum, const struct row *row);

/*
 * Replaces the interval's rows by sums, in place. BY_THREAD changes nothing. `max` figures are the
 * largest of the group, `exited` means all its threads have ended.
 */
void interval_group(struct interval *interval, enum grouping by);

/*
 * Makes one row, without pid and tid, of all of the same process name, in place; how many remain.
 * Of threads that have ended and are too many to be kept, one for each cgroup that has some.
 */
size_t rows_fold(struct row *rows, size_t count);
size_t rows_fold_ended(struct row *rows, size_t count);

#endif
