// SPDX-License-Identifier: GPL-2.0-or-later
/* Real-time workers that never sleep, beside ordinary ones. */
#include "load/setup.h"

struct rt_starvation {
	uint64_t rt;
	uint64_t cfs;
	uint64_t priority;
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct rt_starvation, rt, COUNT, "1", 1, 4096, "real-time workers"),
	PARAM(struct rt_starvation, cfs, COUNT, "1", 0, 4096, "ordinary workers"),
	PARAM(struct rt_starvation, priority, COUNT, "50", 1, 99, "of the real-time workers"),
	PARAM(struct rt_starvation, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning in each iteration"),
	{.name = NULL},
};

static unsigned int team_size(const void *params_)
{
	const struct rt_starvation *rt_starvation = params_;

	return (unsigned int)(rt_starvation->rt + rt_starvation->cfs);
}

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct rt_starvation *)params_)->spin_iters;
}

static int begin(struct worker *worker)
{
	const struct rt_starvation *rt_starvation = worker->params;
	struct spec_policy fifo = {.kind = POLICY_FIFO,
				   .priority = (unsigned int)rt_starvation->priority};

	if (worker->position < rt_starvation->rt)
		setup_policy(&fifo, worker->report.note);
	return 0;
}

static void iterate(struct worker *worker)
{
	worker_spin(worker, ((const struct rt_starvation *)worker->params)->spin_iters);
}

const struct work_type work_rt_starvation = {
	.name = "rt-starvation",
	.summary = "real-time workers leave nothing to the others",
	.params = params,
	.params_bytes = sizeof(struct rt_starvation),
	.flags = WORK_REALTIME,
	.team_size = team_size,
	.units = units,
	.begin = begin,
	.iterate = iterate,
};
