// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes for a while, sleeps for a while. */
#include "load/work_type.h"

#define UNITS 1024

struct bursty {
	uint64_t burst;
	uint64_t sleep;
};

static const struct param params[] = {
	PARAM(struct bursty, burst, DURATION, "50ms", 1, 0, "how long to compute"),
	PARAM(struct bursty, sleep, DURATION, "100ms", 1, 0, "how long to sleep afterwards"),
	{.name = NULL},
};

static void iterate(struct worker *worker)
{
	const struct bursty *bursty = worker->params;

	worker_burst(worker, bursty->burst, UNITS);
	if (!worker_stopping())
		worker_sleep(worker, bursty->sleep);
}

const struct work_type work_bursty = {
	.name = "bursty",
	.summary = "computes in bursts, and sleeps in between",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct bursty),
	.units_each = UNITS,
	.iterate = iterate,
};
