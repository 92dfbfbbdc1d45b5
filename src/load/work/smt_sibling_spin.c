// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs that spin on the two threads of a core, and what that costs. */
#define _GNU_SOURCE /* syscall */
#include <sys/syscall.h>

#include "load/setup.h"
#include "load/work/sys_list.h"

#define UNITS	 1024
#define SIBLINGS "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list"

/* The CPU that each member was bound to, plus one; 0: it was not. */
struct shared {
	_Alignas(64) unsigned int bound;
};

/* The nth core, round again, with two threads that are allowed: *ret_threads. False: none has. */
static bool find_core(const struct cpus *allowed, unsigned int n, struct cpus *ret_threads)
{
	unsigned int found = 0;

	for (;;) {
		for (unsigned int cpu = cpus_next(allowed, 0); cpu < CPUS_MAX;
		     cpu = cpus_next(allowed, cpu + 1)) {
			sys_list_read(ret_threads, SIBLINGS, cpu);
			cpus_intersect(ret_threads, allowed);
			/* each core once, by its first thread */
			if (cpus_count(ret_threads) >= 2 && cpus_next(ret_threads, 0) == cpu &&
			    found++ == n)
				return true;
		}
		if (!found)
			return false;
		n %= found;
		found = 0;
	}
}

static int begin(struct worker *worker)
{
	struct shared *shared = worker->shared;
	struct cpus allowed = {{0}}, threads, one = {{0}};
	unsigned int cpu;

	syscall(SYS_sched_getaffinity, 0, sizeof(allowed), &allowed);
	cpu = cpus_next(&allowed, 0);
	/* else `affinity: smt-pair` has bound it already */
	if (cpus_count(&allowed) > 1) {
		unsigned int pair = (worker->index - worker->position) / 2;

		if (!find_core(&allowed, pair, &threads)) {
			worker_note(worker, "no core has two threads that it may use");
			return 0;
		}
		cpu = cpus_nth(&threads, worker->position);
		cpus_add(&one, cpu);
		setup_affinity(&one, worker->report.note);
	}
	__atomic_store_n(&shared[worker->position].bound, cpu + 1, __ATOMIC_RELEASE);
	return 0;
}

static void iterate(struct worker *worker)
{
	uint64_t began_ns = clock_monotonic_ns();

	worker_spin(worker, UNITS);
	worker_sample(worker, SAMPLES_COST, clock_monotonic_ns() - began_ns);
}

/* By now the partner has said so, too. */
static void end(struct worker *worker)
{
	const struct shared *shared = worker->shared;
	unsigned int own = shared[worker->position].bound;
	unsigned int partner = __atomic_load_n(&shared[!worker->position].bound, __ATOMIC_ACQUIRE);
	struct cpus threads;

	if (own && sys_list_read(&threads, SIBLINGS, own - 1) &&
	    (!partner || partner == own || !cpus_has(&threads, partner - 1)))
		worker_note(worker, "it and its partner were not on two threads of one core");
}

const struct work_type work_smt_sibling_spin = {
	.name = "smt-sibling-spin",
	.summary = "pairs spin on the two threads of a core",
	.team = 2,
	.shared = 2 * sizeof(struct shared),
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
