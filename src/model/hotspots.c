// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/hotspots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define HOTSPOTS_MAX 4096

const struct stall_cause_info stall_cause_info[STALL_CAUSES_COUNT] = {
#define X(name, key, state, help) [CAUSE_##name] = {key, state, help},
	STALL_CAUSES(X)
#undef X
};

const char *const hotspot_grouping_keys[HOTSPOT_GROUPINGS_COUNT] = {
#define X(name, key, heading) [HOTSPOTS_BY_##name] = key,
	HOTSPOT_GROUPINGS(X)
#undef X
};

const char *const hotspot_grouping_headings[HOTSPOT_GROUPINGS_COUNT] = {
#define X(name, key, heading) [HOTSPOTS_BY_##name] = heading,
	HOTSPOT_GROUPINGS(X)
#undef X
};

unsigned int hotspot_bucket(uint64_t ns)
{
	unsigned int bucket = 0;

	while (bucket + 1 < STALL_BUCKETS && ns >> (bucket + 1))
		bucket++;
	return bucket;
}

static void add_worker(struct hotspot *sum, const struct hotspot_worker *worker)
{
	unsigned int i = 0;

	while (i < HOTSPOT_WORKERS && sum->workers[i].tid && sum->workers[i].tid != worker->tid)
		i++;
	if (i == HOTSPOT_WORKERS) {
		sum->others += worker->count;
		return;
	}
	sum->workers[i].tid = worker->tid;
	sum->workers[i].count += worker->count;
	sum->workers[i].total_ns += worker->total_ns;
}

static void add(struct hotspot *sum, const struct hotspot *part)
{
	if (part->max_ns >= sum->max_ns) {
		sum->max_ns = part->max_ns;
		sum->function = part->function;
		sum->stack = part->stack;
		sum->type = part->type;
		sum->site = part->site;
	}
	sum->count += part->count;
	sum->total_ns += part->total_ns;
	for (int i = 0; i < STALL_BUCKETS; i++)
		sum->buckets[i] += part->buckets[i];
	if (part->waker.tid) {
		sum->waker = part->waker;
		sum->waker_function = part->waker_function;
	}
	if (part->culprit.tid)
		sum->culprit = part->culprit;
	if (*part->limit.comm)
		sum->limit = part->limit;
	for (int i = 0; i < HOTSPOT_WORKERS && part->workers[i].tid; i++)
		add_worker(sum, &part->workers[i]);
	sum->others += part->others;
}

static int add_under(struct hotspots *hotspots, uint64_t key, const struct hotspot *part)
{
	uint32_t kind = (uint32_t)part->cause << 1 | part->in_place;
	size_t known = hotspots->keys.count, index;

	if (known == HOTSPOTS_MAX && identities_find(&hotspots->keys, kind, key) == IDENTITY_NONE) {
		hotspots->lost += part->count;
		return 0;
	}
	if (array_reserve(&hotspots->items, &hotspots->room, known + 1, sizeof(*part)) < 0)
		return -ENOMEM;
	index = identities_add(&hotspots->keys, kind, key);
	if (index == IDENTITY_NONE)
		return -ENOMEM;
	if (index == known)
		hotspots->items[index] = *part;
	else
		add(&hotspots->items[index], part);
	return 0;
}

int hotspots_add(struct hotspots *hotspots, const struct hotspot *hotspot)
{
	/* one of them turned round, or the same name in both would be no key at all */
	uint64_t task = hotspot->keys[HOTSPOTS_BY_TASK];

	return add_under(hotspots, hotspot->keys[HOTSPOTS_BY_FUNCTION] ^ (task << 32 | task >> 32),
			 hotspot);
}

int hotspots_merge(struct hotspots *hotspots, enum hotspot_grouping by, const struct hotspots *from)
{
	int result = 0;

	hotspots->lost += from->lost;
	for (size_t i = 0; result >= 0 && i < from->keys.count; i++)
		result = add_under(hotspots, from->items[i].keys[by], &from->items[i]);
	return result;
}

static int by_total(const void *left, const void *right)
{
	const struct hotspot *a = left, *b = right;

	/* what the program announced to the runtime is no fault */
	if (a->in_place != b->in_place)
		return a->in_place - b->in_place;
	return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

void hotspots_sort(struct hotspots *hotspots)
{
	size_t count = hotspots->keys.count;

	if (count)
		qsort(hotspots->items, count, sizeof(*hotspots->items), by_total);
}

void hotspots_clear(struct hotspots *hotspots)
{
	identities_clear(&hotspots->keys);
	hotspots->lost = 0;
}

void hotspots_release(struct hotspots *hotspots)
{
	identities_release(&hotspots->keys);
	free(hotspots->items);
	*hotspots = (struct hotspots){0};
}
