// SPDX-License-Identifier: GPL-2.0-or-later
/* Many sleep on one word, and are all woken at once. */
#include <limits.h>

#include "load/work/generation.h"
#include "load/work_type.h"

#define WAKER_UNITS  256
#define WAITER_UNITS 1 /* for each wakeup: who never counts is taken for starved */

struct thundering_herd {
	uint64_t waiters;
	uint64_t batches;
	uint64_t inter_batch;
};

static const struct param params[] = {
	PARAM(struct thundering_herd, waiters, COUNT, "7", 1, 4096, "workers that are woken"),
	PARAM(struct thundering_herd, batches, COUNT, "0", 0, UINT32_MAX,
	      "wakeups of them all, then everybody rests; 0: as long as it runs"),
	PARAM(struct thundering_herd, inter_batch, DURATION, "5ms", 0, 0,
	      "sleep before each wakeup"),
	{.name = NULL},
};

static unsigned int team_size(const void *params_)
{
	return (unsigned int)((const struct thundering_herd *)params_)->waiters + 1;
}

static uint64_t units(const void *params_, unsigned int position)
{
	(void)params_;
	return position ? WAITER_UNITS : WAKER_UNITS;
}

static void iterate(struct worker *worker)
{
	const struct thundering_herd *thundering_herd = worker->params;
	struct generation *generation = worker->shared;

	if (thundering_herd->batches && generation_now(generation) >= thundering_herd->batches) {
		worker_note(worker, "all %llu batches were done before the end",
			    (unsigned long long)thundering_herd->batches);
		worker_rest(worker, WORKER_WAIT_NS);
	} else if (worker->position) {
		if (generation_await(worker, generation))
			worker->work_units += WAITER_UNITS;
	} else if (worker_sleep(worker, thundering_herd->inter_batch)) {
		generation_advance(generation, INT_MAX);
		worker_spin(worker, WAKER_UNITS);
	}
}

const struct work_type work_thundering_herd = {
	.name = "thundering-herd",
	.summary = "many sleep, and are woken at once",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct thundering_herd),
	.team_size = team_size,
	.shared = sizeof(struct generation),
	.units = units,
	.iterate = iterate,
};
