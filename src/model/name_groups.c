// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/name_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Of that name; or free, and where it would be. */
static struct name_group *slot_of(const struct name_groups *groups, const char *comm)
{
	size_t mask = groups->slot_count - 1;
	size_t at = (size_t)(hash_bytes(groups->key, comm, strlen(comm)) >> 24) & mask;

	while (groups->slots[at].comm && strcmp(groups->slots[at].comm, comm))
		at = (at + 1) & mask;
	return &groups->slots[at];
}

/* Without memory it stays empty. */
static void make(struct name_groups *groups, const struct interval *interval)
{
	groups->is_made = true;
	/* of a part of the machine, another thread of that name may be anywhere */
	if (interval->session->wire.flags & (WIRE_SESSION_TARGETED | WIRE_SESSION_NAMESPACE))
		return;
	groups->key = hash_secret(groups);
	for (groups->slot_count = 2; groups->slot_count < 2 * interval->row_count;)
		groups->slot_count *= 2;
	groups->slots = calloc(groups->slot_count, sizeof(*groups->slots));
	for (size_t i = 0; groups->slots && i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i], *last = i ? row - 1 : NULL;
		struct name_group *group;

		/* by thread id, they come process by process */
		if (last && last->cgroup_id == row->cgroup_id && !strcmp(last->comm, row->comm))
			continue;
		group = slot_of(groups, row->comm);
		if (group->comm)
			group->is_several |= group->cgroup_id != row->cgroup_id;
		else
			*group = (struct name_group){row->comm, row->cgroup_id, false};
	}
}

/*
 * A thread or a process without a row has ended: those of its name that are left may be of other
 * cgroups.
 */
static bool is_folded_by_name(const struct blame *blame)
{
	return blame->kind == WIRE_CULPRIT_THREAD && !blame->culprit.tid && !blame->culprit.pid &&
	       *blame->culprit.comm;
}

uint64_t name_groups_cgroup(struct name_groups *groups, const struct interval *interval,
			    const struct blame *blame)
{
	const struct name_group *group;

	if (blame->culprit.cgroup_id || !is_folded_by_name(blame))
		return blame->culprit.cgroup_id;
	if (!groups->is_made)
		make(groups, interval);
	group = groups->slots ? slot_of(groups, blame->culprit.comm) : NULL;
	return group && group->comm && !group->is_several ? group->cgroup_id : 0;
}

void name_groups_release(struct name_groups *groups)
{
	free(groups->slots);
	*groups = (struct name_groups){.is_made = false};
}
