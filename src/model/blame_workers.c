// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/blame_workers.h"

#include <stdlib.h>
#include <string.h>

static int by_tid(const void *left, const void *right)
{
	const struct group_member *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

void group_members_sort(struct group_member *members, size_t count)
{
	if (count)
		qsort(members, count, sizeof(*members), by_tid);
}

const struct group_member *group_members_find(const struct group_member *members, size_t count,
					      uint32_t tid)
{
	struct group_member key = {.tid = tid};

	return count && tid ? bsearch(&key, members, count, sizeof(key), by_tid) : NULL;
}

size_t group_members_adopt(struct group_member *members, size_t count,
			   const struct interval *interval)
{
	size_t known;

	/* once for each generation, and once more */
	do {
		known = count;
		for (size_t i = 0; i < interval->row_count; i++) {
			const struct row *row = &interval->rows[i];
			const struct group_member *parent =
				group_members_find(members, known, row->parent_pid);

			if (parent && row->tid == row->pid &&
			    !group_members_find(members, known, row->tid))
				members[count++] = (struct group_member){
					.tid = row->tid, .group = parent->group, .adopted = true};
		}
		group_members_sort(members, count);
	} while (count > known);
	return count;
}

static struct blame_party group_party(const struct group_member *member)
{
	return (struct blame_party){.group = member->group + 1};
}

/* Processes come and go: those of one name are one. */
static struct blame_party named_party(const struct blame_party *party)
{
	struct blame_party named = {0};

	memcpy(named.comm, party->process, sizeof(named.comm));
	memcpy(named.process, party->process, sizeof(named.process));
	return named;
}

void interval_blame_of_workers(struct interval *interval, const struct group_member *members,
			       size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < interval->blame_count; i++) {
		struct blame blame = interval->blames[i];
		const struct group_member *victim, *culprit;

		victim = group_members_find(members, count, blame.victim.tid);
		if (!victim || victim->adopted || !state_is_lost(blame.state))
			continue;
		blame.victim = group_party(victim);
		blame.thief.least_ns = 0; /* of workers only what they are to each other counts */
		if (blame.kind == WIRE_CULPRIT_THREAD) {
			culprit = group_members_find(members, count, blame.culprit.tid);
			if (!culprit)
				culprit = group_members_find(members, count, blame.culprit.pid);
			blame.culprit =
				culprit ? group_party(culprit) : named_party(&blame.culprit);
		}
		interval->blames[kept++] = blame;
	}
	interval->blame_count = kept;
}

static int by_group(const void *left, const void *right)
{
	const struct blame *a = left, *b = right;

	if (a->victim.group != b->victim.group)
		return a->victim.group < b->victim.group ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return blame_compare_parties(&a->culprit, &b->culprit);
}

/* The one of the same group and state whose culprit is not known. NULL: there is none. */
static struct blame *unknown_of(struct blame_sum *sum, const struct blame *like)
{
	for (size_t i = 0; i < sum->count; i++)
		if (sum->items[i].victim.group == like->victim.group &&
		    sum->items[i].state == like->state && !sum->items[i].goes_on &&
		    sum->items[i].kind == WIRE_CULPRIT_UNKNOWN)
			return &sum->items[i];
	return NULL;
}

void blame_sum_end_workers(struct blame_sum *sum)
{
	size_t kept = 0;

	blame_sum_end(sum);
	/* with the workers their waits have ended: what no later interval has explained is unknown
	 */
	for (size_t i = 0; i < sum->count; i++) {
		struct blame *item = &sum->items[i], *unknown;

		if (!item->goes_on)
			continue;
		unknown = unknown_of(sum, item);
		item->goes_on = false;
		if (!unknown)
			continue;
		unknown->total_ns += item->total_ns;
		item->total_ns = 0;
	}
	for (size_t i = 0; i < sum->count; i++)
		if (sum->items[i].total_ns)
			sum->items[kept++] = sum->items[i];
	sum->count = kept;
	if (kept)
		qsort(sum->items, kept, sizeof(*sum->items), by_group);
}
