// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes memory in strides, without a system call. */
#include "load/work/cache.h"
#include "load/work_type.h"

#define UNITS 1024

struct cache_pressure {
	uint64_t size;
	uint64_t stride;
};

static const struct param params[] = {
	PARAM(struct cache_pressure, size, SIZE, "32K", 1, 0, "memory to go through"),
	PARAM(struct cache_pressure, stride, SIZE, "64", 1, 0, "from one access to the next"),
	{.name = NULL},
};

static int begin(struct worker *worker)
{
	const struct cache_pressure *cache_pressure = worker->params;

	return cache_begin(worker, cache_pressure->size);
}

static void iterate(struct worker *worker)
{
	const struct cache_pressure *cache_pressure = worker->params;

	cache_touch(worker, cache_pressure->size, cache_pressure->stride, UNITS);
}

const struct work_type work_cache_pressure = {
	.name = "cache-pressure",
	.summary = "goes through memory without pause",
	.params = params,
	.params_bytes = sizeof(struct cache_pressure),
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = cache_end,
};
