// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs that go through memory of their own, and hand a byte back and forth. */
#include "load/work/cache.h"
#include "load/work_type.h"

#define STRIDE 64

struct cache_pipe {
	uint64_t size;
	uint64_t burst_iters;
};

static const struct param params[] = {
	PARAM(struct cache_pipe, size, SIZE, "32K", 1, 0, "memory to go through"),
	PARAM(struct cache_pipe, burst_iters, COUNT, "1024", 0, 0,
	      "units of going through it before each write"),
	{.name = NULL},
};

/* When each member of the pair wrote. */
struct shared {
	_Alignas(64) uint64_t stamp_ns;
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct cache_pipe *)params_)->burst_iters;
}

static int begin(struct worker *worker)
{
	const struct cache_pipe *cache_pipe = worker->params;

	return cache_begin(worker, cache_pipe->size);
}

static void iterate(struct worker *worker)
{
	const struct cache_pipe *cache_pipe = worker->params;
	struct shared *shared = worker->shared;

	cache_touch(worker, cache_pipe->size, STRIDE, cache_pipe->burst_iters);
	if (worker_pipe_send(worker, &shared[worker->position].stamp_ns))
		worker_pipe_receive(worker, &shared[!worker->position].stamp_ns);
}

const struct work_type work_cache_pipe = {
	.name = "cache-pipe",
	.summary = "pairs go through memory, and hand a byte over through pipes",
	.params = params,
	.params_bytes = sizeof(struct cache_pipe),
	.flags = WORK_PIPES | WORK_WAITS,
	.team = 2,
	.shared = 2 * sizeof(struct shared),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = cache_end,
};
