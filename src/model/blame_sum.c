// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/blame_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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

static void sum_up(struct blame *blame, enum grouping by)
{
	struct blame_party *culprit = &blame->culprit;
	char holder[sizeof(culprit->comm)];

	memcpy(holder, culprit->comm, sizeof(holder));
	sum_up_party(&blame->victim, by);
	sum_up_party(culprit, by);
	/* which thread of a process others ran instead of says little; which held its lock, all */
	if (by == BY_PROCESS && blame->state == STATE_LOCK && culprit->pid &&
	    culprit->pid == blame->victim.pid)
		memcpy(culprit->comm, holder, sizeof(holder));
}

int blame_compare_parties(const struct blame_party *a, const struct blame_party *b)
{
	if (a->crew != b->crew)
		return a->crew < b->crew ? -1 : 1;
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

static size_t merge(struct blame *items, size_t count)
{
	size_t groups = 0;

	if (count)
		qsort(items, count, sizeof(*items), by_key);
	for (size_t i = 0; i < count; i++) {
		struct blame *group = groups ? &items[groups - 1] : NULL;

		if (group && !by_key(group, &items[i])) {
			group->count += items[i].count;
			group->total_ns += items[i].total_ns;
			group->earlier_ns += items[i].earlier_ns;
		} else {
			items[groups++] = items[i];
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
