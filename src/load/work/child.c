// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* waitpid, kill */
#include "load/work/child.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RETRY_NS 1000000ULL

pid_t child_fork(struct worker *worker)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(0);
	}
	if (child < 0) {
		worker_note(worker, "fork: %s", strerror(errno));
		worker_rest(worker, RETRY_NS);
	}
	return child;
}

bool child_await(struct worker *worker, pid_t child)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns;
	bool stopped = false;

	while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
		/* one that gets no CPU to end on would be waited for in vain */
		if (worker_stopping() && !stopped)
			kill(child, SIGKILL);
		stopped |= worker_stopping();
	}
	if (stopped)
		return false;
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_look(worker, now_ns);
	return true;
}
