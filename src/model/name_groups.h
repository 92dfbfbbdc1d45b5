/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cgroup the threads of a name are in, where all of them are in one. For culprits that the
 * kernel side has folded by name.
 */
#ifndef DWELL_MODEL_NAME_GROUPS_H
#define DWELL_MODEL_NAME_GROUPS_H

#include "model/blame.h"
#include "model/interval.h"

/* Names, of the interval's largest blames; the kernel side folds small shares alone. */
#define NAME_GROUPS_MAX 256

struct name_groups {
	struct name_group {
		char comm[17];
		bool is_met, is_several;
		uint64_t cgroup_id;
	} items[NAME_GROUPS_MAX]; /* sorted */
	size_t count;
};

/* Of the interval's rows, which are all threads of the machine; else nothing is known. */
void name_groups_find(struct name_groups *groups, const struct interval *interval);

/* The culprit's cgroup; 0: not known. */
uint64_t name_groups_cgroup(const struct name_groups *groups, const struct blame *blame);

#endif
