// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes the affinity of the other workers of its cgroup over and over, as managers of containers
 * do: of all its CPUs, these get all but the last one by turns.
 */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/proc_stat.h"
#include "load/work/own_cgroup.h"
#include "load/work/sys_list.h"
#include "load/work_type.h"

struct cross_affinity_churn {
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct cross_affinity_churn, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning before each change"),
	{.name = NULL},
};

struct siblings {
	struct cpus cpus[2]; /* all, and all but the last one */
	pid_t *pids;
	size_t count, room;
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct cross_affinity_churn *)params_)->spin_iters;
}

static void set_affinity(struct worker *worker, pid_t pid, const struct cpus *cpus)
{
	/* one may have ended already */
	if (syscall(SYS_sched_setaffinity, pid, sizeof(*cpus), cpus) < 0 && errno != ESRCH)
		worker_note(worker, "cannot set the affinity of process %d: %s", pid,
			    strerror(errno));
}

/*
 * That of dwell, if the spec gives this worker none: its own may have been changed by a sibling
 * before it could read it.
 */
static int read_cpus(struct worker *worker, const char *home, struct siblings *siblings)
{
	struct cpus *all = &siblings->cpus[0], cpuset;
	unsigned int last = 0;

	if (worker->pin)
		*all = *worker->pin;
	else if (syscall(SYS_sched_getaffinity, getppid(), sizeof(*all), all) < 0) {
		worker_fail(worker, "sched_getaffinity: %s", strerror(errno));
		return -EIO;
	}
	/* of a cgroup without this controller there is no such file */
	if (sys_list_read(&cpuset, "%s/cpuset.cpus.effective", home))
		cpus_intersect(all, &cpuset);
	for (unsigned int cpu = cpus_next(all, 0); cpu < CPUS_MAX; cpu = cpus_next(all, cpu + 1))
		last = cpu;
	siblings->cpus[1] = *all;
	siblings->cpus[1].bits[last / 64] &= ~(1ULL << (last % 64));
	if (!cpus_count(&siblings->cpus[1])) {
		siblings->cpus[1] = *all;
		worker_note(worker, "it has one CPU only: affinities stay as they are");
	}
	return 0;
}

/*
 * What else is in the cgroup is none of our concern: children of workers, or all kinds of
 * processes, if it is not the run's.
 */
static bool is_worker(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read((uint32_t)pid, (uint32_t)pid, &stat) &&
	       (pid_t)stat.parent_pid == getppid();
}

static int read_siblings(struct worker *worker, const char *home, struct siblings *siblings)
{
	cleanup_file FILE *file = NULL;
	char procs[PATH_MAX];
	int pid;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", home);
	file = fopen(procs, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		if (pid == worker->tid || !is_worker(pid))
			continue;
		if (array_reserve(&siblings->pids, &siblings->room, siblings->count + 1,
				  sizeof(*siblings->pids)) < 0) {
			worker_fail(worker, "out of memory");
			return -ENOMEM;
		}
		siblings->pids[siblings->count++] = pid;
	}
	if (!siblings->count)
		worker_note(worker, "no other worker is in its cgroup: it changes no affinity");
	return 0;
}

static int begin(struct worker *worker)
{
	cleanup_free char *home = own_cgroup(worker);
	struct siblings *siblings = home ? calloc(1, sizeof(*siblings)) : NULL;
	int result;

	worker->state = siblings;
	if (!siblings)
		return home ? -ENOMEM : -ENOENT;
	result = read_cpus(worker, home, siblings);
	return result < 0 ? result : read_siblings(worker, home, siblings);
}

static void set_all(struct worker *worker, const struct cpus *cpus)
{
	const struct siblings *siblings = worker->state;

	for (size_t i = 0; i < siblings->count; i++)
		set_affinity(worker, siblings->pids[i], cpus);
}

static void iterate(struct worker *worker)
{
	const struct cross_affinity_churn *cross_affinity_churn = worker->params;
	const struct siblings *siblings = worker->state;

	worker_spin(worker, cross_affinity_churn->spin_iters);
	set_all(worker, &siblings->cpus[(worker->iterations + 1) % 2]);
	worker_yield(worker);
}

static void end(struct worker *worker)
{
	struct siblings *siblings = worker->state;

	if (!siblings)
		return;
	/* others may work longer than this one */
	set_all(worker, &siblings->cpus[0]);
	free(siblings->pids);
	free(siblings);
}

const struct work_type work_cross_affinity_churn = {
	.name = "cross-affinity-churn",
	.summary = "changes the affinity of the other workers of its cgroup",
	.params = params,
	.params_bytes = sizeof(struct cross_affinity_churn),
	.flags = WORK_CGROUPS | WORK_WAITS,
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
