// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes memory in strides, and yields: whose lines are still there afterwards? */
#include "load/work/cache.h"
#include "load/work_type.h"

#define UNITS 1024

struct cache_yield {
	uint64_t size;
	uint64_t stride;
};

static const struct param params[] = {
	PARAM(struct cache_yield, size, SIZE, "32K", 1, 0, "memory to go through"),
	PARAM(struct cache_yield, stride, SIZE, "64", 1, 0, "from one access to the next"),
	{.name = NULL},
};

static int begin(struct worker *worker)
{
	const struct cache_yield *cache_yield = worker->params;

	return cache_begin(worker, cache_yield->size);
}

static void iterate(struct worker *worker)
{
	const struct cache_yield *cache_yield = worker->params;

	cache_touch(worker, cache_yield->size, cache_yield->stride, UNITS);
	worker_yield(worker);
}

const struct work_type work_cache_yield = {
	.name = "cache-yield",
	.summary = "goes through memory, then yields",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct cache_yield),
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = cache_end,
};
