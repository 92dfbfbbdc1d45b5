// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs that hand a byte back and forth through two pipes: synchronous wakeups. */
#include "load/work_type.h"

struct pipe_io {
	uint64_t burst_iters;
};

static const struct param params[] = {
	PARAM(struct pipe_io, burst_iters, COUNT, "1024", 0, 0,
	      "units of spinning before each write"),
	{.name = NULL},
};

/* When each member of the pair wrote. */
struct shared {
	_Alignas(64) uint64_t stamp_ns;
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct pipe_io *)params_)->burst_iters;
}

static void iterate(struct worker *worker)
{
	const struct pipe_io *pipe_io = worker->params;
	struct shared *shared = worker->shared;

	worker_spin(worker, pipe_io->burst_iters);
	if (worker_pipe_send(worker, &shared[worker->position].stamp_ns))
		worker_pipe_receive(worker, &shared[!worker->position].stamp_ns);
}

const struct work_type work_pipe_io = {
	.name = "pipe-io",
	.summary = "pairs hand a byte over through pipes",
	.params = params,
	.params_bytes = sizeof(struct pipe_io),
	.flags = WORK_PIPES | WORK_WAITS,
	.team = 2,
	.shared = 2 * sizeof(struct shared),
	.units = units,
	.iterate = iterate,
};
