// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves itself to one random CPU after the other. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "load/setup.h"

struct affinity_churn {
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct affinity_churn, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning before each move"),
	{.name = NULL},
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct affinity_churn *)params_)->spin_iters;
}

/* What is allowed at first: afterwards the kernel would return the one CPU it was moved to. */
static int begin(struct worker *worker)
{
	struct cpus *allowed = calloc(1, sizeof(*allowed));

	worker->state = allowed;
	if (!allowed) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	if (syscall(SYS_sched_getaffinity, 0, sizeof(*allowed), allowed) < 0) {
		worker_fail(worker, "sched_getaffinity: %s", strerror(errno));
		return -EIO;
	}
	if (cpus_count(allowed) == 1)
		worker_note(worker, "it may run on one CPU only: it never moves");
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct affinity_churn *affinity_churn = worker->params;
	const struct cpus *allowed = worker->state;
	char refused[REPORT_TEXT] = "";
	struct cpus one = {{0}};

	worker_spin(worker, affinity_churn->spin_iters);
	cpus_add(&one, cpus_nth(allowed, (unsigned int)(random_next(&worker->random) %
							cpus_count(allowed))));
	setup_affinity(&one, refused);
	if (*refused)
		worker_note(worker, "%s", refused);
	worker_yield(worker);
}

static void end(struct worker *worker)
{
	free(worker->state);
}

const struct work_type work_affinity_churn = {
	.name = "affinity-churn",
	.summary = "moves itself from CPU to CPU",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct affinity_churn),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
