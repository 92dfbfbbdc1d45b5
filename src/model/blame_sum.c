// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/blame_sum.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/blame_thieves.h"

static void sum_up_party(struct blame_party *party, enum grouping by)
{
	party->tid = party->start = 0;
	if (by == BY_PROCESS) {
		memcpy(party->comm, party->process, sizeof(party->comm));
		return;
	}
	party->pid = 0;
	memset(party->comm, 0, sizeof(party->comm));
	memset(party->process, 0, sizeof(party->process));
}

/* Of who is in no cgroup that is known: the programs stay apart, or no one would be to blame. */
static void leave_name(struct blame_party *party)
{
	party->tid = party->start = party->pid = 0;
	memcpy(party->comm, party->process, sizeof(party->comm));
}

static void sum_up(struct blame *blame, enum grouping by)
{
	struct blame_party *culprit = &blame->culprit;
	char holder[sizeof(culprit->comm)];

	memcpy(holder, culprit->comm, sizeof(holder));
	sum_up_party(&blame->victim, by);
	sum_up_party(&blame->thief.party, by);
	blame->holder = (struct blame_party){0};
	if (blame->kind == WIRE_CULPRIT_THREAD && by == BY_CGROUP && !culprit->cgroup_id)
		leave_name(culprit);
	else if (blame->kind == WIRE_CULPRIT_THREAD)
		sum_up_party(culprit, by);
	/* which thread of a process others ran instead of says little; which held its lock, all */
	if (by == BY_PROCESS && blame->state == STATE_LOCK && culprit->pid &&
	    culprit->pid == blame->victim.pid)
		memcpy(culprit->comm, holder, sizeof(holder));
}

int blame_compare_parties(const struct blame_party *a, const struct blame_party *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (!a->pid && a->cgroup_id != b->cgroup_id)
		return a->cgroup_id < b->cgroup_id ? -1 : 1;
	return a->pid ? 0 : strcmp(a->comm, b->comm);
}

/* All but the figures. */
static int by_key(const void *left, const void *right)
{
	const struct blame *a = left, *b = right;
	int order = blame_compare_parties(&a->victim, &b->victim);

	if (!order)
		order = (a->state > b->state) - (a->state < b->state);
	if (!order)
		order = (a->kind > b->kind) - (a->kind < b->kind);
	if (!order)
		order = blame_compare_parties(&a->culprit, &b->culprit);
	if (!order && blame_has_holder(a))
		order = strcmp(a->culprit.comm, b->culprit.comm);
	if (!order)
		order = a->has_meanwhile - b->has_meanwhile;
	if (!order)
		order = memcmp(&a->meanwhile, &b->meanwhile, sizeof(a->meanwhile));
	return order ? order : a->goes_on - b->goes_on;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15ULL; /* Fibonacci hashing: Knuth, 6.4 */
}

static uint64_t hash_party(uint64_t hash, const struct blame_party *party)
{
	hash = mix(hash, (uint64_t)party->pid << 32 | party->tid);
	hash = mix(hash, (uint64_t)party->group << 32 | party->start);
	if (party->pid)
		return hash;
	for (const char *at = party->comm; *at; at++)
		hash = mix(hash, (unsigned char)*at);
	return mix(hash, party->cgroup_id);
}

/* Equal where by_key() is 0. */
static uint64_t hash_key(const struct blame *blame)
{
	uint64_t hash = hash_party(hash_party(0, &blame->victim), &blame->culprit);
	uint32_t meanwhile;

	static_assert(sizeof(meanwhile) == sizeof(blame->meanwhile), "a site is a number");
	memcpy(&meanwhile, &blame->meanwhile, sizeof(meanwhile));
	hash = mix(hash, (uint64_t)meanwhile << 8 | (uint64_t)blame->state);
	hash = mix(hash, (uint64_t)blame->kind << 2 | blame->has_meanwhile << 1 | blame->goes_on);
	return hash >> 32;
}

static void add_to(struct blame *group, const struct blame *blame)
{
	group->count += blame->count;
	group->total_ns += blame->total_ns;
	group->earlier_ns += blame->earlier_ns;
	group->holder = blame->holder; /* as it was last */
	blame_thief_add(&group->thief, &blame->thief);
}

static size_t merge_sorted(struct blame *items, size_t count)
{
	size_t groups = 0;

	qsort(items, count, sizeof(*items), by_key);
	for (size_t i = 0; i < count; i++) {
		if (groups && !by_key(&items[groups - 1], &items[i]))
			add_to(&items[groups - 1], &items[i]);
		else
			items[groups++] = items[i];
	}
	return groups;
}

/* Those that are equal but for their figures become one; in no order. How many there are. */
static size_t merge(struct blame *items, size_t count)
{
	size_t groups = 0, room = 64;
	cleanup_free uint32_t *table = NULL; /* number in items, + 1; 0: free */

	while (room < 2 * count)
		room *= 2;
	table = count < UINT32_MAX ? calloc(room, sizeof(*table)) : NULL;
	if (!table)
		return count ? merge_sorted(items, count) : 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = hash_key(&items[i]) & (room - 1);

		while (table[at] && by_key(&items[table[at] - 1], &items[i]))
			at = (at + 1) & (room - 1);
		if (table[at]) {
			add_to(&items[table[at] - 1], &items[i]);
		} else {
			items[groups] = items[i];
			table[at] = (uint32_t)++groups;
		}
	}
	return groups;
}

void interval_group_blame(struct interval *interval, enum grouping by)
{
	struct blame *items = interval->blames;

	if (by == BY_THREAD || !interval->blame_count)
		return;
	for (size_t i = 0; i < interval->blame_count; i++)
		sum_up(&items[i], by);
	interval->blame_count = merge(items, interval->blame_count);
	blames_sort(items, interval->blame_count);
}

/* Hours of builds have millions of processes: what is kept, and when equals are merged. */
#define SUM_MAX	  65536
#define SUM_SLACK 8192

void blame_sum_merge(struct blame_sum *sum)
{
	sum->count = merge(sum->items, sum->count);
	if (sum->count > SUM_MAX) {
		blames_sort(sum->items, sum->count);
		for (size_t i = SUM_MAX / 2; i < sum->count; i++)
			sum->folded_ns += sum->items[i].total_ns;
		sum->count = SUM_MAX / 2;
	}
	sum->merged = sum->count;
}

int blame_sum_add(struct blame_sum *sum, const struct interval *interval)
{
	if (array_reserve(&sum->items, &sum->room, sum->count + interval->blame_count,
			  sizeof(*sum->items)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < interval->blame_count; i++) {
		struct blame *item = &sum->items[sum->count++];

		*item = interval->blames[i];
		sum_up(item, BY_PROCESS);
	}
	if (sum->count > 2 * sum->merged + SUM_SLACK)
		blame_sum_merge(sum);
	return 0;
}

/*
 * Of one victim and state: what was known later no longer goes on. Beyond that, it was before the
 * first interval.
 */
static void settle(struct blame *items, size_t count)
{
	uint64_t open_ns = 0;

	for (size_t i = 0; i < count; i++)
		open_ns += items[i].goes_on ? items[i].total_ns : 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t part_ns = items[i].earlier_ns < open_ns ? items[i].earlier_ns : open_ns;

		items[i].total_ns += part_ns;
		items[i].earlier_ns = 0;
		open_ns -= part_ns;
	}
	for (size_t i = 0; i < count; i++)
		if (items[i].goes_on)
			items[i].total_ns = open_ns;
}

void blame_sum_end(struct blame_sum *sum)
{
	size_t first = 0;

	blame_sum_merge(sum);
	/* by_key() has victims first, and then states */
	if (sum->count)
		qsort(sum->items, sum->count, sizeof(*sum->items), by_key);
	for (size_t i = 1; i <= sum->count; i++) {
		if (i < sum->count && sum->items[i].state == sum->items[first].state &&
		    !blame_compare_parties(&sum->items[i].victim, &sum->items[first].victim))
			continue;
		settle(sum->items + first, i - first);
		first = i;
	}
	blames_sort(sum->items, sum->count);
}

void blame_sum_release(struct blame_sum *sum)
{
	free(sum->items);
	*sum = (struct blame_sum){0};
}
