// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs that send each other signals. SIGUSR2: SIGUSR1 is the stop. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "load/work_type.h"

struct signal_storm {
	uint64_t signals;
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct signal_storm, signals, COUNT, "16", 1, 0, "to the partner in each iteration"),
	PARAM(struct signal_storm, spin_iters, COUNT, "1024", 0, 0, "units of spinning afterwards"),
	{.name = NULL},
};

/* Of each member, once it can take signals and until it stops. */
struct member {
	_Alignas(64) pid_t pid;
	pid_t tid; /* 0: not now */
};

static uint64_t units(const void *params_, unsigned int position)
{
	const struct signal_storm *signal_storm = params_;

	(void)position;
	return signal_storm->signals + signal_storm->spin_iters;
}

static void on_signal(int signal)
{
	(void)signal;
}

static int begin(struct worker *worker)
{
	/* with SA_RESTART: what follows the work, as the report, is not to be interrupted */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct member *member = (struct member *)worker->shared + worker->position;

	if (sigaction(SIGUSR2, &action, NULL) < 0) {
		worker_fail(worker, "sigaction: %s", strerror(errno));
		return -EIO;
	}
	member->pid = getpid();
	__atomic_store_n(&member->tid, worker->tid, __ATOMIC_RELEASE);
	return 0;
}

/* A dead partner's number is not reused before it is reaped, which is after the end. */
static void iterate(struct worker *worker)
{
	const struct signal_storm *signal_storm = worker->params;
	const struct member *partner = (struct member *)worker->shared + !worker->position;

	for (uint64_t i = 0; i < signal_storm->signals && !worker_stopping(); i++) {
		pid_t tid = __atomic_load_n(&partner->tid, __ATOMIC_ACQUIRE);

		if (!tid)
			break;
		if (syscall(SYS_tgkill, partner->pid, tid, SIGUSR2) < 0) {
			worker_note(worker, "no signal could be sent: %s", strerror(errno));
			break;
		}
		worker->work_units++;
	}
	worker_spin(worker, signal_storm->spin_iters);
}

static void end(struct worker *worker)
{
	struct member *member = (struct member *)worker->shared + worker->position;

	__atomic_store_n(&member->tid, 0, __ATOMIC_RELEASE);
}

const struct work_type work_signal_storm = {
	.name = "signal-storm",
	.summary = "pairs send each other signals",
	.params = params,
	.params_bytes = sizeof(struct signal_storm),
	.team = 2,
	.shared = 2 * sizeof(struct member),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
