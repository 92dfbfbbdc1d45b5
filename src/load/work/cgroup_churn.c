// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves itself from cgroup to cgroup: children of the one it is in, which it makes and removes. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "load/work/own_cgroup.h"
#include "load/work_type.h"

#define UNITS 256

struct cgroup_churn {
	uint64_t groups;
	uint64_t period;
};

static const struct param params[] = {
	PARAM(struct cgroup_churn, groups, COUNT, "2", 1, 64, "cgroups of each worker"),
	PARAM(struct cgroup_churn, period, DURATION, "100ms", 1, 0,
	      "sleep in each before it works"),
	{.name = NULL},
};

struct churn {
	char *home; /* the directory of the cgroup it was put into */
	uint64_t made;
};

/* The nth one of this worker, and a file of it or "". */
static void name_group(const struct worker *worker, char path[PATH_MAX], uint64_t n,
		       const char *file)
{
	const struct churn *churn = worker->state;

	snprintf(path, PATH_MAX, "%s/dwell-churn-%d-%llu%s", churn->home, worker->tid,
		 (unsigned long long)n, file);
}

static int enter_group(const struct worker *worker, uint64_t n)
{
	char path[PATH_MAX];

	name_group(worker, path, n, "/cgroup.procs");
	return own_cgroup_move(path, 0);
}

static int make_groups(struct worker *worker)
{
	const struct cgroup_churn *cgroup_churn = worker->params;
	struct churn *churn = worker->state;
	char path[PATH_MAX];
	int result = 0;

	for (; churn->made < cgroup_churn->groups; churn->made++) {
		name_group(worker, path, churn->made, "");
		if (mkdir(path, 0755) < 0) {
			result = -errno;
			worker_fail(worker, "cannot make cgroups in %.100s: %s", churn->home,
				    strerror(-result));
			return result;
		}
	}
	result = enter_group(worker, 0);
	if (result < 0)
		worker_fail(worker, "cannot move between cgroups in %.80s: %s", churn->home,
			    strerror(-result));
	return result;
}

static int begin(struct worker *worker)
{
	struct churn *churn = calloc(1, sizeof(*churn));

	worker->state = churn;
	if (churn)
		churn->home = own_cgroup(worker);
	if (!churn || !churn->home)
		return -ENOENT;
	return make_groups(worker);
}

static void iterate(struct worker *worker)
{
	const struct cgroup_churn *cgroup_churn = worker->params;
	int result = enter_group(worker, worker->iterations % cgroup_churn->groups);

	if (result < 0)
		worker_note(worker, "cannot enter a cgroup: %s", strerror(-result));
	if (worker_rest(worker, cgroup_churn->period) && result >= 0)
		worker_spin(worker, UNITS);
}

static void end(struct worker *worker)
{
	struct churn *churn = worker->state;
	char path[PATH_MAX];

	if (!churn)
		return;
	if (churn->home) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", churn->home);
		if (churn->made && own_cgroup_move(path, 0) < 0)
			worker_note(worker, "cannot leave its cgroups");
		while (churn->made) {
			name_group(worker, path, --churn->made, "");
			rmdir(path);
		}
	}
	free(churn->home);
	free(churn);
}

const struct work_type work_cgroup_churn = {
	.name = "cgroup-churn",
	.summary = "moves itself from cgroup to cgroup",
	.params = params,
	.params_bytes = sizeof(struct cgroup_churn),
	.flags = WORK_CGROUPS,
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
