// SPDX-License-Identifier: GPL-2.0-or-later
/* Short bursts, short sleeps: a CPU that goes idle all the time. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "load/work_type.h"

#define UNITS 256

struct idle_churn {
	uint64_t burst;
	uint64_t sleep;
	uint64_t precise;
};

static const char *const answers[] = {"no", "yes", NULL};

static const struct param params[] = {
	PARAM(struct idle_churn, burst, DURATION, "1ms", 1, 0, "how long to compute"),
	PARAM(struct idle_churn, sleep, DURATION, "5ms", 1, 0, "how long to sleep afterwards"),
	{.name = "precise",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct idle_churn, precise),
	 .initial = "no",
	 .choices = answers,
	 .help = "without the slack that the kernel gives to timers"},
	{.name = NULL},
};

static int begin(struct worker *worker)
{
	const struct idle_churn *idle_churn = worker->params;

	if (idle_churn->precise && prctl(PR_SET_TIMERSLACK, 1) < 0)
		worker_note(worker, "PR_SET_TIMERSLACK: %s", strerror(errno));
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct idle_churn *idle_churn = worker->params;
	uint64_t now_ns = worker_burst(worker, idle_churn->burst, UNITS);

	if (!worker_stopping())
		worker_sleep_until(worker, now_ns + idle_churn->sleep);
}

const struct work_type work_idle_churn = {
	.name = "idle-churn",
	.summary = "short bursts and short sleeps",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct idle_churn),
	.begin = begin,
	.iterate = iterate,
};
