// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arithmetic and random accesses to memory by turns: instructions per cycle go up and down while
 * the thread looks the same to a scheduler, which some estimate its need by.
 */
#include "load/work/alu.h"
#include "load/work/cache.h"
#include "load/work_type.h"

struct ipc_variance {
	uint64_t alu_iters;
	uint64_t touches;
	uint64_t rounds;
	uint64_t size;
};

static const struct param params[] = {
	PARAM(struct ipc_variance, alu_iters, COUNT, "100000", 1, 0, "arithmetic of a round"),
	PARAM(struct ipc_variance, touches, COUNT, "1024", 1, 0,
	      "accesses to memory of a round, at random"),
	PARAM(struct ipc_variance, rounds, COUNT, "64", 1, 0, "of an iteration"),
	PARAM(struct ipc_variance, size, SIZE, "512K", 1, 0, "memory to access"),
	{.name = NULL},
};

static uint64_t units(const void *params_, unsigned int position)
{
	const struct ipc_variance *ipc_variance = params_;

	(void)position;
	return ipc_variance->rounds * (ipc_variance->alu_iters + ipc_variance->touches);
}

static int begin(struct worker *worker)
{
	const struct ipc_variance *ipc_variance = worker->params;

	return cache_begin(worker, ipc_variance->size);
}

static void touch_at_random(struct worker *worker, uint64_t size, uint64_t count)
{
	volatile uint8_t *buffer = worker->state;

	for (uint64_t i = 0; i < count; i++) {
		buffer[random_next(&worker->random) % size]++;
		worker->work_units++;
	}
}

static void iterate(struct worker *worker)
{
	const struct ipc_variance *ipc_variance = worker->params;
	uint64_t began_ns = clock_monotonic_ns(), rounds = 0;

	while (rounds < ipc_variance->rounds && !worker_stopping()) {
		alu_chain(worker, ipc_variance->alu_iters);
		touch_at_random(worker, ipc_variance->size, ipc_variance->touches);
		rounds++;
	}
	/* one that was cut short cost less */
	if (rounds == ipc_variance->rounds)
		worker_sample(worker, SAMPLES_COST, clock_monotonic_ns() - began_ns);
}

const struct work_type work_ipc_variance = {
	.name = "ipc-variance",
	.summary = "arithmetic and random memory by turns, and their cost",
	.params = params,
	.params_bytes = sizeof(struct ipc_variance),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = cache_end,
};
