// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that come when they come, whether or not the one before is served: a load that is
 * offered, and does not shrink when the CPU is late, as that of bursty does. Gaps between them are
 * exponentially distributed (a Poisson process), each takes the same CPU time: M/D/1 of queueing
 * theory, where latency rises with 1 / (1 - load).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "load/work_type.h"

struct open_loop {
	double load;
	uint64_t request;
};

static const struct param params[] = {
	PARAM(struct open_loop, load, SHARE, "50%", 0, 0,
	      "what the requests of a worker take of a CPU"),
	PARAM(struct open_loop, request, DURATION, "1ms", 10000, 0, "CPU time that each takes"),
	{.name = NULL},
};

struct arrivals {
	uint64_t due_ns, paused_ns;
};

static int check(const void *params_, struct error *error)
{
	const struct open_loop *open_loop = params_;

	return open_loop->load > 0 ? 0 : error_set(error, EINVAL, "load: more than 0");
}

static int begin(struct worker *worker)
{
	struct arrivals *arrivals = malloc(sizeof(*arrivals));

	if (!arrivals) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	arrivals->due_ns = clock_monotonic_ns();
	arrivals->paused_ns = worker_paused_ns(worker);
	worker->state = arrivals;
	return 0;
}

/* From 0 up, of mean 1: the inverse of the distribution at a number above 0, up to 1. */
static double exponential(uint64_t *random)
{
	return -log((double)((random_next(random) >> 11) + 1) / 9007199254740992.0 /* 2^53 */);
}

static void iterate(struct worker *worker)
{
	const struct open_loop *open_loop = worker->params;
	struct arrivals *arrivals = worker->state;
	double gap_ns = (double)open_loop->request / open_loop->load * exponential(&worker->random);

	arrivals->due_ns += (uint64_t)gap_ns + worker_new_pause_ns(worker, &arrivals->paused_ns);
	/* one that came meanwhile waited for its own worker, which is no wakeup */
	if (clock_monotonic_ns() < arrivals->due_ns &&
	    !worker_sleep_until(worker, arrivals->due_ns))
		return;
	if (worker_compute(worker, open_loop->request))
		worker_sample(worker, SAMPLES_COST, clock_monotonic_ns() - arrivals->due_ns);
}

static void end(struct worker *worker)
{
	free(worker->state);
}

const struct work_type work_open_loop = {
	.name = "open-loop",
	.summary = "requests that do not wait for each other: a load of that size",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct open_loop),
	.check = check,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
