// SPDX-License-Identifier: GPL-2.0-or-later
/* Goes through the scheduling policies. */
#include <sys/resource.h>
#include <unistd.h>

#include "base/privilege.h"
#include "load/setup.h"

struct policy_churn {
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct policy_churn, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning before each change"),
	{.name = NULL},
};

static const struct spec_policy policies[] = {
	{.kind = POLICY_NORMAL},
	{.kind = POLICY_BATCH},
	{.kind = POLICY_IDLE},
	/* from here on if it is permitted */
	{.kind = POLICY_FIFO, .priority = 1},
	{.kind = POLICY_RR, .priority = 1},
};

#define FIRST_IDLE     2
#define FIRST_REALTIME 3

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct policy_churn *)params_)->spin_iters;
}

/* worker->state points to one of these: how many of them are permitted. */
static const size_t all = ARRAY_SIZE(policies), fair = FIRST_REALTIME, ordinary = FIRST_IDLE;

/*
 * From SCHED_IDLE a thread without CAP_SYS_NICE, root's in a container, say, comes back only by
 * RLIMIT_NICE: at least 20 less its nice value; user_check_sched_setscheduler() of
 * kernel/sched/syscalls.c. Else it would stay there.
 */
static bool may_leave_idle(void)
{
	struct rlimit limit;

	return privilege_has(CAP_SYS_NICE) ||
	       (!getrlimit(RLIMIT_NICE, &limit) &&
		(limit.rlim_cur == RLIM_INFINITY ||
		 (long)limit.rlim_cur >= 20 - getpriority(PRIO_PROCESS, 0)));
}

static int begin(struct worker *worker)
{
	char refused[REPORT_TEXT] = "";

	if (!may_leave_idle()) {
		worker_note(worker, "only normal and batch: without CAP_SYS_NICE, and with a "
				    "low RLIMIT_NICE, a thread does not come back from idle");
		worker->state = (void *)&ordinary;
		return 0;
	}

	setup_policy_exactly(&policies[FIRST_REALTIME], refused);
	if (*refused)
		worker_note(worker, "%s", refused);
	worker->state = (void *)(*refused ? &fair : &all);
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct policy_churn *policy_churn = worker->params;
	const size_t *permitted = worker->state;
	char refused[REPORT_TEXT] = "";

	worker_spin(worker, policy_churn->spin_iters);
	setup_policy_exactly(&policies[worker->iterations % *permitted], refused);
	if (*refused)
		worker_note(worker, "%s", refused);
	worker_yield(worker);
}

/* What is left to do needs neither a real-time policy nor one for idle times. */
static void end(struct worker *worker)
{
	char refused[REPORT_TEXT] = "";

	setup_policy_exactly(&policies[0], refused);
	if (*refused)
		worker_note(worker, "%s", refused);
}

const struct work_type work_policy_churn = {
	.name = "policy-churn",
	.summary = "goes through the scheduling policies",
	.params = params,
	.params_bytes = sizeof(struct policy_churn),
	.flags = WORK_REALTIME | WORK_WAITS,
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
