// SPDX-License-Identifier: GPL-2.0-or-later
/* A messenger wakes several receivers at once, by a generation that it advances. */
#include "load/work/generation.h"
#include "load/work_type.h"

struct futex_fan_out {
	uint64_t fan_out;
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct futex_fan_out, fan_out, COUNT, "4", 1, 4096, "receivers of each messenger"),
	PARAM(struct futex_fan_out, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning in each iteration"),
	{.name = NULL},
};

static unsigned int team_size(const void *params_)
{
	return (unsigned int)((const struct futex_fan_out *)params_)->fan_out + 1;
}

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct futex_fan_out *)params_)->spin_iters;
}

static void iterate(struct worker *worker)
{
	const struct futex_fan_out *futex_fan_out = worker->params;

	worker_spin(worker, futex_fan_out->spin_iters);
	if (worker->position)
		generation_await(worker, worker->shared);
	else
		generation_advance(worker->shared, (unsigned int)futex_fan_out->fan_out);
}

const struct work_type work_futex_fan_out = {
	.name = "futex-fan-out",
	.summary = "a messenger wakes several receivers at once",
	.params = params,
	.params_bytes = sizeof(struct futex_fan_out),
	.flags = WORK_MESSENGER | WORK_WAITS,
	.team_size = team_size,
	.shared = sizeof(struct generation),
	.units = units,
	.iterate = iterate,
};
