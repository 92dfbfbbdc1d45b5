// SPDX-License-Identifier: GPL-2.0-or-later
/* A real-time worker that wakes up again and again among ordinary ones, which it preempts. */
#include "load/setup.h"

struct preempt_storm {
	uint64_t cfs;
	uint64_t spin_iters;
	uint64_t sleep;
};

static const struct param params[] = {
	PARAM(struct preempt_storm, cfs, COUNT, "2", 1, 4096, "ordinary workers"),
	PARAM(struct preempt_storm, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning in each iteration"),
	PARAM(struct preempt_storm, sleep, DURATION, "1ms", 1, 0,
	      "of the real-time worker after it has spun"),
	{.name = NULL},
};

static unsigned int team_size(const void *params_)
{
	return (unsigned int)((const struct preempt_storm *)params_)->cfs + 1;
}

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct preempt_storm *)params_)->spin_iters;
}

static int begin(struct worker *worker)
{
	static const struct spec_policy fifo = {.kind = POLICY_FIFO, .priority = 1};

	if (!worker->position)
		setup_policy(&fifo, worker->report.note);
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct preempt_storm *preempt_storm = worker->params;

	worker_spin(worker, preempt_storm->spin_iters);
	if (!worker->position)
		worker_rest(worker, preempt_storm->sleep);
}

const struct work_type work_preempt_storm = {
	.name = "preempt-storm",
	.summary = "a real-time worker preempts the others again and again",
	.params = params,
	.params_bytes = sizeof(struct preempt_storm),
	.flags = WORK_REALTIME,
	.team_size = team_size,
	.units = units,
	.begin = begin,
	.iterate = iterate,
};
