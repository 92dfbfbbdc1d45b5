// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "load/run_ops.h"

/* Field 3 of /proc/TID/stat: 'R' runs or wants to. 0: it is gone. */
static char state_of(uint32_t tid)
{
	char path[64], line[512];
	cleanup_file FILE *file = NULL;
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	name_end = strrchr(line, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

/* Whether it has been kept from running all the time since it was last seen to get on. */
static bool is_stuck(const struct worker_slot *slot, struct crew_worker *worker, uint64_t now_ns)
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
	if (now_ns < worker->seen_ns + WORKER_STUCK_NS) {
		worker->reported_stuck = false;
		return false;
	}
	/* waiting for its partner, or for a disk, it is nothing to the scheduler */
	return state_of(__atomic_load_n(&slot->tid, __ATOMIC_RELAXED)) == 'R';
}

static unsigned int look_at_crew(struct run *run, struct run_crew *crew, uint64_t now_ns)
{
	unsigned int told = 0;

	for (unsigned int i = 0; i < crew->crew.forked; i++) {
		const struct worker_slot *slot = arena_slot(&crew->crew.arena, i);
		struct crew_worker *worker = &crew->crew.workers[i];

		if (crew->crew.frozen_since_ns) {
			worker->seen_ns = now_ns;
			continue;
		}
		if (!is_stuck(slot, worker, now_ns) || worker->reported_stuck)
			continue;
		worker->reported_stuck = true;
		run_note(run, "worker %u (%s) has not run for 2 s", slot->tid,
			 crew->group.work->type->name);
		if (run->scheduler.pid > 0 && !kill(run->scheduler.pid, SIGUSR2))
			told++;
	}
	return told;
}

uint64_t watchdog_look(struct run *run, uint64_t now_ns)
{
	uint64_t told = 0;

	for (size_t i = 0; i < run->crew_count; i++) {
		struct run_crew *crew = run->crews[i];

		if (crew->begun && !crew->crew.over &&
		    !(crew->group.work->type->flags & WORK_BYPASS))
			told += look_at_crew(run, crew, now_ns);
	}
	return told;
}
