/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parent's side of the workers of one group: forks them, lets them begin, stops them, gathers
 * their reports, and leaves nothing of them behind.
 *
 *   worker_group_fork()   they exist, and wait: here they are put into their cgroup
 *   worker_group_start()  one write lets them all begin
 *   worker_groups_stop()  of all groups at once: SIGUSR1, reports, reaping; bounded in time
 */
#ifndef DWELL_LOAD_WORKER_GROUP_H
#define DWELL_LOAD_WORKER_GROUP_H

#include "load/shared_memory.h"
#include "load/plan.h"
#include "load/scratch.h"

/* Without another report, on a machine with a CPU for each: base/patience.h. */
#define WORKER_GROUP_COLLECT_NS 5000000000ULL

enum exit_kind {
	EXIT_REPORTED, /* it reported: no exit_info */
	EXIT_EXITED,
	EXIT_SIGNALED,
	EXIT_TIMED_OUT,
	EXIT_WAIT_FAILED,
};

struct group_worker {
	pid_t pid; /* of its process; threads have one together; 0: reaped */
	int report_fd;
	pid_t tid;		 /* while collecting: its thread, or its process if it has none */
	bool ended;		 /* its process, as of the last look while collecting */
	uint64_t stopped_run_ns; /* on a CPU, when it was to stop */
	bool lacks_cpu;		 /* since then, at the last look: it could not report */
	bool killed;		 /* its process was there when all had had their time */
	bool complete;		 /* its report is whole, and was checked */
	char *received;
	size_t length;
	enum exit_kind exit;
	int exit_code;			   /* status, signal or errno */
	uint64_t seen_iterations, seen_ns; /* the watchdog's: when it last got on */
	uint64_t seen_run, kept_since_ns;  /* of a suspect: CPU time; it has waited for a CPU */
	bool suspect, reported_stuck;
};

struct worker_group {
	const struct plan_group *group;
	struct shared_memory shared;
	struct group_worker *workers; /* group->count */
	unsigned int forked;
	int start_fd;
	uint64_t started_ns, stopped_ns; /* CLOCK_MONOTONIC; 0: not yet */
	uint64_t numa_migrated;		 /* pages, of the whole machine, while it ran */
	bool numa_migrated_measured;
	bool frozen, over;
};

struct worker_group_options {
	uint64_t seed;
	unsigned int first_index;      /* of its first worker, among all */
	pid_t scheduler_pid;	       /* 0: no process gets SIGUSR2 for stuck workers */
	unsigned int parts;	       /* that are counted for themselves, and the rest; 0: one */
	const struct scratch *scratch; /* for the workers' files */
};

/*
 * Forks all workers, or none: on failure those that were are killed and reaped. Only
 * `group` needs to be set, which must outlive the other.
 */
int worker_group_fork(struct worker_group *worker_group, const struct plan_group *group,
		      const struct worker_group_options *options, struct error *error) must_check;

int worker_group_start(struct worker_group *worker_group, struct error *error) must_check;

/*
 * Stops them, waits for their reports until 5 s have gone by without one (longer where they
 * get no CPU to write them), kills what is left with its process group, and reaps. Workers without
 * a report know in `exit` what became of them.
 */
void worker_groups_stop(struct worker_group **worker_groups, size_t count);

/* Kills, reaps and frees. Takes zeroed and half-made ones. */
void worker_group_release(struct worker_group *worker_group);

/* NULL: it left none that can be read. */
static inline const struct worker_report *worker_group_report(const struct group_worker *worker)
{
	return worker->complete ? (const struct worker_report *)(const void *)worker->received
				: NULL;
}

static inline const struct report_migration *
worker_group_migrations(const struct group_worker *worker)
{
	return (const struct report_migration *)(const void *)(worker->received +
							       sizeof(struct worker_report));
}

/* Whether a process of a group of processes has ended already, by itself. */
bool group_worker_ended(const struct group_worker *worker);

#endif
