/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cgroup the threads of a name are in, where all of them are in one. For culprits that the
 * kernel side has folded by name.
 */
#ifndef DWELL_MODEL_NAME_GROUPS_H
#define DWELL_MODEL_NAME_GROUPS_H

#include "model/blame.h"
#include "model/interval.h"

/* Of one interval; all zeros at first. */
struct name_groups {
	bool is_made; /* when a name is looked for first */
	struct name_group {
		const char *comm; /* of a row; NULL: free */
		uint64_t cgroup_id;
		bool is_several;
	} * slots; /* by name: open addressing; owned */
	size_t slot_count;
	uint64_t key; /* of the hash */
};

/*
 * The culprit's cgroup; 0: not known. By name it is known where the interval's rows are all threads
 * of the machine.
 */
uint64_t name_groups_cgroup(struct name_groups *groups, const struct interval *interval,
			    const struct blame *blame);
void name_groups_release(struct name_groups *groups);

#endif
