// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/name_groups.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
	return strcmp(left, ((const struct name_group *)right)->comm);
}

static int compare_groups(const void *left, const void *right)
{
	return compare(((const struct name_group *)left)->comm, right);
}

static struct name_group *find(const struct name_groups *groups, const char *comm)
{
	return bsearch(comm, groups->items, groups->count, sizeof(*groups->items), compare);
}

static bool is_wanted(const struct blame *blame)
{
	return blame->kind == WIRE_CULPRIT_THREAD && !blame->culprit.cgroup_id &&
	       *blame->culprit.comm;
}

static void want(struct name_groups *groups, const char *comm)
{
	if (groups->count == NAME_GROUPS_MAX || find(groups, comm))
		return;
	groups->items[groups->count] = (struct name_group){.is_met = false};
	memcpy(groups->items[groups->count++].comm, comm, sizeof(groups->items->comm));
	qsort(groups->items, groups->count, sizeof(*groups->items), compare_groups);
}

void name_groups_find(struct name_groups *groups, const struct interval *interval)
{
	groups->count = 0;
	/* of a part of the machine, another thread of that name may be anywhere */
	if (interval->session->wire.flags & WIRE_SESSION_TARGETED)
		return;
	for (size_t i = 0; i < interval->blame_count; i++)
		if (is_wanted(&interval->blames[i]))
			want(groups, interval->blames[i].culprit.comm);
	for (size_t i = 0; groups->count && i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		struct name_group *group = find(groups, row->comm);

		if (!group)
			continue;
		group->is_several |= group->is_met && group->cgroup_id != row->cgroup_id;
		group->is_met = true;
		group->cgroup_id = row->cgroup_id;
	}
}

uint64_t name_groups_cgroup(const struct name_groups *groups, const struct blame *blame)
{
	const struct name_group *group =
		is_wanted(blame) ? find(groups, blame->culprit.comm) : NULL;

	return group && !group->is_several ? group->cgroup_id : blame->culprit.cgroup_id;
}
