// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/watchdog.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/proc_stat.h"
#include "base/schedstat.h"
#include "load/evidence.h"
#include "load/run_ops.h"
#include "load/run_trace.h"

/* A thousand workers of two CPUs do not get a line each. */
#define STUCK_TOLD_MAX 8

/* Each costs the machine a walk over all its threads. */
#define EVIDENCE_MAX	2

#define BEFORE_STALL_NS (200 * NS_PER_MS) /* in a trace: how it came to it */

/*
 * Whether it wants to run, and has not since the last look. Work of which an iteration takes long
 * makes progress, too, while it uses a CPU. In ns: who only waits, and wakes up to look at the stop
 * flag, does not use a tick in an hour; and may well be found runnable, as it wakes up as often as
 * we do.
 */
static bool is_kept_waiting(const struct worker_slot *slot, struct group_worker *worker)
{
	uint32_t tid = __atomic_load_n(&slot->tid, __ATOMIC_RELAXED);
	uint64_t before = worker->seen_run;
	struct schedstat counted;
	struct proc_stat stat;

	/* it runs, or wants to */
	if (!proc_stat_read(tid, tid, &stat) || stat.state != 'R')
		return false;
	worker->seen_run =
		schedstat_of((pid_t)tid, &counted) ? counted.cpu_ns : stat.utime_ns + stat.stime_ns;
	return worker->seen_run == before;
}

/* Whether it has been kept from running all the time since it was last seen to get on. */
static bool is_stuck(const struct worker_slot *slot, struct group_worker *worker, uint64_t now_ns)
{
	uint64_t iterations = __atomic_load_n(&slot->iterations, __ATOMIC_RELAXED);
	uint64_t looked_ns = __atomic_load_n(&slot->looked_ns, __ATOMIC_RELAXED);
	uint64_t asleep_until_ns = __atomic_load_n(&slot->asleep_until_ns, __ATOMIC_RELAXED);

	if (looked_ns > worker->seen_ns)
		worker->seen_ns = looked_ns;
	if (iterations != worker->seen_iterations) {
		worker->seen_iterations = iterations;
		worker->seen_ns = now_ns;
	}
	if (asleep_until_ns > worker->seen_ns)
		worker->seen_ns = asleep_until_ns;
	/* /proc is looked at for the few that are suspect, and not all the time */
	if (now_ns < worker->seen_ns + WORKER_STUCK_NS / 2) {
		worker->suspect = worker->reported_stuck = false;
		return false;
	}
	if (!worker->suspect) {
		worker->suspect = true;
		worker->kept_since_ns = worker->seen_ns;
		is_kept_waiting(slot, worker);
		return false;
	}
	/* while it waits for its partner, or for a disk, it is nothing to the scheduler */
	if (!is_kept_waiting(slot, worker)) {
		worker->kept_since_ns = now_ns;
		worker->reported_stuck = false;
	}
	return now_ns >= worker->kept_since_ns + WORKER_STUCK_NS;
}

static void keep_evidence(struct run *run, struct run_group *worker_group, unsigned int number,
			  uint64_t now_ns)
{
	const struct worker_slot *slot = shared_slot(&worker_group->worker_group.shared, number);
	const struct group_worker *worker = &worker_group->worker_group.workers[number];
	char what[160], at[16], kept[16];

	if (run->evidence_count == EVIDENCE_MAX ||
	    (!run->evidence_count && output_init(&run->evidence, -1) < 0))
		return;
	/* over its end as a text */
	if (run->evidence_count)
		run->evidence.buffer[run->evidence.used - 1] = '\n';
	run->evidence_count++;
	duration_format(at, sizeof(at), now_ns - run->started_ns);
	duration_format(kept, sizeof(kept), now_ns - worker->kept_since_ns);
	snprintf(what, sizeof(what), "stall after %s: worker %u (%s) has not run for %s", at,
		 slot->tid, worker_group->group.work->type->name, kept);
	evidence_take(&run->evidence, (uint32_t)worker->pid, slot->tid, run->scheduler.pid,
		      &run->inside.queues, what);
	output_char(&run->evidence, '\0');
}

static unsigned int look_at_group(struct run *run, struct run_group *worker_group, uint64_t now_ns)
{
	unsigned int alarms = 0;

	for (unsigned int i = 0; i < worker_group->worker_group.forked; i++) {
		const struct worker_slot *slot = shared_slot(&worker_group->worker_group.shared, i);
		struct group_worker *worker = &worker_group->worker_group.workers[i];
		bool alarmed;

		if (worker_group->worker_group.frozen) {
			worker->seen_ns = now_ns;
			continue;
		}
		if (!is_stuck(slot, worker, now_ns) || worker->reported_stuck)
			continue;
		worker->reported_stuck = true;
		/* first: what is looked at then costs switches; and the signal may end the
		 * scheduler, and the stall with it */
		run_trace_freeze(run, worker->kept_since_ns - BEFORE_STALL_NS,
				 "worker %u (%s) has not run for 2 s", slot->tid,
				 worker_group->group.work->type->name);
		keep_evidence(run, worker_group, i, now_ns);
		alarmed = run->scheduler.pid > 0 && !run->options->repro &&
			  scheduler_alarm(&run->scheduler);
		if (run->stuck++ < STUCK_TOLD_MAX)
			run_warn(run, "worker %u (%s) has not run for 2 s%s", slot->tid,
				 worker_group->group.work->type->name,
				 alarmed ? ": the scheduler got SIGUSR2" : "");
		alarms += alarmed;
	}
	return alarms;
}

uint64_t watchdog_look(struct run *run, uint64_t now_ns)
{
	uint64_t alarms = 0;

	for (size_t i = 0; i < run->worker_group_count; i++) {
		struct run_group *worker_group = run->worker_groups[i];

		if (worker_group->begun && !worker_group->worker_group.over &&
		    !(worker_group->group.work->type->flags & WORK_BYPASS))
			alarms += look_at_group(run, worker_group, now_ns);
	}
	return alarms;
}

void watchdog_end(struct run *run)
{
	if (run->stuck > STUCK_TOLD_MAX)
		run_warn(run, "and %u times more that a worker had not run for 2 s",
			 run->stuck - STUCK_TOLD_MAX);
}
