// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes a child that ends at once, and waits for it. */
#define _GNU_SOURCE /* waitpid, kill */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "load/work_type.h"

#define RETRY_NS 1000000ULL

/* False: stopped meanwhile; the child is gone nonetheless. */
static bool await_end(pid_t child)
{
	bool stopped = false;

	while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
		/* one that gets no CPU to end on would be waited for in vain */
		if (worker_stopping() && !stopped)
			kill(child, SIGKILL);
		stopped |= worker_stopping();
	}
	return !stopped;
}

static void iterate(struct worker *worker)
{
	uint64_t began_ns, now_ns;
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(0);
	}
	if (child < 0) {
		worker_note(worker, "fork: %s", strerror(errno));
		worker_rest(worker, RETRY_NS);
		return;
	}
	began_ns = clock_monotonic_ns();
	if (!await_end(child))
		return;
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_look(worker, now_ns);
	worker->work_units++;
}

const struct work_type work_fork_exit = {
	.name = "fork-exit",
	.summary = "forks children that exit at once",
	.flags = WORK_FORKS,
	.units_each = 1,
	.iterate = iterate,
};
