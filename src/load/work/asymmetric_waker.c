// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs of whom one wakes the other, each with a policy of its own. */
#include "load/setup.h"
#include "load/work/generation.h"

struct asymmetric_waker {
	uint64_t waker, wakee;
	uint64_t spin_iters;
};

/* By enum policy_kind. */
static const char *const policies[] = {"normal", "batch", "idle", "fifo", "rr", NULL};

#define POLICY(member, help_)                                                                      \
	{                                                                                          \
		.name = #member, .kind = PARAM_CHOICE,                                             \
		.offset = offsetof(struct asymmetric_waker, member), .initial = "normal",          \
		.choices = policies, .help = help_                                                 \
	}

static const struct param params[] = {
	POLICY(waker, "policy of who wakes"),
	POLICY(wakee, "policy of who is woken"),
	PARAM(struct asymmetric_waker, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning before, and after, each wakeup"),
	{.name = NULL},
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct asymmetric_waker *)params_)->spin_iters;
}

static int begin(struct worker *worker)
{
	const struct asymmetric_waker *asymmetric_waker = worker->params;
	struct spec_policy policy = {.kind = (enum policy_kind)(worker->position
									? asymmetric_waker->wakee
									: asymmetric_waker->waker)};

	if (policy.kind == POLICY_FIFO || policy.kind == POLICY_RR)
		policy.priority = 1;
	setup_policy(&policy, worker->report.note);
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct asymmetric_waker *asymmetric_waker = worker->params;

	if (worker->position && !generation_await(worker, worker->shared))
		return;
	worker_spin(worker, asymmetric_waker->spin_iters);
	if (!worker->position)
		generation_advance(worker->shared, 1);
}

const struct work_type work_asymmetric_waker = {
	.name = "asymmetric-waker",
	.summary = "pairs of different policies, of whom one wakes the other",
	.params = params,
	.params_bytes = sizeof(struct asymmetric_waker),
	.flags = WORK_REALTIME | WORK_WAITS,
	.team = 2,
	.shared = sizeof(struct generation),
	.units = units,
	.begin = begin,
	.iterate = iterate,
};
