// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes children that end at once, and moves each into a cgroup while it ends: what attaches a task
 * races with its exit.
 */
#define _GNU_SOURCE /* waitpid */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "load/work/child.h"
#include "load/work/own_cgroup.h"
#include "load/work_type.h"

enum reap { REAP_WAITPID, REAP_SIGIGN };

struct cgroup_attach_storm {
	uint64_t reap;
};

static const char *const reaps[] = {"waitpid", "sigign", NULL};

static const struct param params[] = {
	{.name = "reap",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct cgroup_attach_storm, reap),
	 .initial = "waitpid",
	 .choices = reaps,
	 .help = "it waits for each, or ignores SIGCHLD and the kernel reaps"},
	{.name = NULL},
};

struct storm {
	char *directory; /* the cgroup they are moved into, which it makes and removes */
	bool made;
	bool ignores; /* SIGCHLD */
};

static int begin(struct worker *worker)
{
	const struct cgroup_attach_storm *cgroup_attach_storm = worker->params;
	cleanup_free char *home = own_cgroup(worker);
	struct storm *storm = home ? calloc(1, sizeof(*storm)) : NULL;
	int result = 0;

	worker->state = storm;
	if (!storm)
		return home ? -ENOMEM : -ENOENT;
	if (asprintf(&storm->directory, "%s/dwell-storm-%d", home, worker->tid) < 0) {
		storm->directory = NULL;
		return -ENOMEM;
	}
	storm->made = !mkdir(storm->directory, 0755);
	if (!storm->made) {
		result = -errno;
		worker_fail(worker, "cannot make a cgroup in %.100s: %s", home, strerror(-result));
		return result;
	}
	storm->ignores = cgroup_attach_storm->reap == REAP_SIGIGN;
	if (storm->ignores)
		signal(SIGCHLD, SIG_IGN);
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct storm *storm = worker->state;
	pid_t child = child_fork(worker);
	char procs[PATH_MAX];
	int result;

	if (child < 0)
		return;
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", storm->directory);
	result = own_cgroup_move(procs, child);
	/* it has ended already */
	if (result < 0 && result != -ESRCH)
		worker_note(worker, "cannot move a child: %s", strerror(-result));
	if (storm->ignores || child_await(worker, child))
		worker->work_units++;
}

static void end(struct worker *worker)
{
	struct storm *storm = worker->state;

	if (!storm)
		return;
	/* the last ones may still be ending */
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	if (storm->ignores)
		signal(SIGCHLD, SIG_DFL);
	if (storm->made)
		rmdir(storm->directory);
	free(storm->directory);
	free(storm);
}

const struct work_type work_cgroup_attach_storm = {
	.name = "cgroup-attach-storm",
	.summary = "moves children into a cgroup while they end",
	.params = params,
	.params_bytes = sizeof(struct cgroup_attach_storm),
	.flags = WORK_CGROUPS | WORK_FORKS,
	.units_each = 1,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
