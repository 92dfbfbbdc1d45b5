// SPDX-License-Identifier: GPL-2.0-or-later
/* A messenger wakes workers that then multiply matrices: how schbench does it. */
#include <errno.h>

#include "load/work/generation.h"
#include "load/work/matrices.h"
#include "load/work_type.h"

#define MESSENGER_UNITS 256

struct fan_out_compute {
	uint64_t fan_out;
	uint64_t footprint;
	uint64_t operations;
	uint64_t sleep;
};

static const struct param params[] = {
	PARAM(struct fan_out_compute, fan_out, COUNT, "4", 1, 4096, "workers of each messenger"),
	PARAM(struct fan_out_compute, footprint, SIZE, "256K", MATRICES_MIN_BYTES, 1ULL << 34,
	      "memory of the three matrices of each worker"),
	PARAM(struct fan_out_compute, operations, COUNT, "5", 0, 0,
	      "multiplications after each wakeup"),
	PARAM(struct fan_out_compute, sleep, DURATION, "100us", 0, 0,
	      "between the wakeup and the multiplications"),
	{.name = NULL},
};

static unsigned int team_size(const void *params_)
{
	return (unsigned int)((const struct fan_out_compute *)params_)->fan_out + 1;
}

static uint64_t units(const void *params_, unsigned int position)
{
	const struct fan_out_compute *fan_out_compute = params_;

	return position ? fan_out_compute->operations : MESSENGER_UNITS;
}

static int begin(struct worker *worker)
{
	const struct fan_out_compute *fan_out_compute = worker->params;

	if (!worker->position)
		return 0;
	worker->state = matrices_make(worker, fan_out_compute->footprint);
	return worker->state ? 0 : -ENOMEM;
}

/*
 * Unlike generation_await(): the sample of this type has always been the time since the messenger's
 * stamp, in the resume stream too.
 */
static bool await_message(struct worker *worker, const struct generation *generation)
{
	uint32_t seen = generation_now(generation);
	uint64_t began_ns = clock_monotonic_ns(), now_ns, stamp_ns;
	bool blocked = false;

	while (generation_now(generation) == seen) {
		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
		blocked |= worker_futex_wait(&generation->number, seen);
	}
	now_ns = clock_monotonic_ns();
	stamp_ns = __atomic_load_n(generation_stamp(generation, seen), __ATOMIC_RELAXED);
	worker_sample(worker, SAMPLES_RESUME, stamp_ns < now_ns ? now_ns - stamp_ns : 0);
	if (blocked)
		worker_woken(worker, stamp_ns, began_ns, now_ns);
	worker_look(worker, now_ns);
	return true;
}

static void iterate(struct worker *worker)
{
	const struct fan_out_compute *fan_out_compute = worker->params;
	struct generation *generation = worker->shared;

	if (!worker->position) {
		generation_advance(generation, (unsigned int)fan_out_compute->fan_out);
		worker_spin(worker, MESSENGER_UNITS);
		return;
	}
	if (!await_message(worker, generation) || !worker_rest(worker, fan_out_compute->sleep))
		return;
	for (uint64_t i = 0; i < fan_out_compute->operations && matrices_multiply(worker->state);
	     i++)
		worker->work_units++;
}

static void end(struct worker *worker)
{
	matrices_free(worker->state);
}

const struct work_type work_fan_out_compute = {
	.name = "fan-out-compute",
	.summary = "a messenger wakes workers that multiply matrices",
	.params = params,
	.params_bytes = sizeof(struct fan_out_compute),
	.flags = WORK_MESSENGER | WORK_WAITS,
	.team_size = team_size,
	.shared = sizeof(struct generation),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
