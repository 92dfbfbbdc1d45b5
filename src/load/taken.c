// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/taken.h"

/* CPU time of the run's workers, on a CPU. */
static uint64_t workers_ns(const struct run *run, unsigned int cpu)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct worker_group *group = &run->worker_groups[i]->worker_group;

		for (unsigned int k = 0; cpu < group->shared.cpus && k < group->forked; k++)
			sum += shared_cpus(&group->shared, k)[cpu].cpu_ns;
	}
	return sum;
}

/* Those that its workers might use: their affinity, else what the cgroup has. */
static struct cpus cpus_of(const struct run_group *worker_group)
{
	const struct plan_group *plan = &worker_group->group;
	struct cpus cpus = worker_group->allowed;
	struct cpus pinned = {{0}};

	if (!plan->cpus)
		return cpus;
	for (unsigned int i = 0; i < plan->count; i++)
		cpus_unite(&pinned, &plan->cpus[i]);
	return pinned;
}

struct taken taken_from(const struct run *run, const struct run_group *worker_group,
			const struct pressure *pressure)
{
	struct taken all = {.share = pressure_taken(pressure),
			    .ns = (double)pressure_taken_ns(pressure)};
	struct taken own = {.of_own = true};
	const struct cpus cpus = cpus_of(worker_group);
	const struct cpus *usable = &run->topology->usable;
	unsigned int count = cpus_count(&cpus);
	/* of ours, what is of no worker's turns on a CPU that is known: the scheduler's, dwell's */
	double elsewhere_ns = (double)pressure->own_ns;

	if (!pressure->measured || !run->before.cpus || !run->after.cpus || !count ||
	    count >= cpus_count(usable))
		return all;
	for (unsigned int cpu = cpus_next(usable, 0); cpu < CPUS_MAX;
	     cpu = cpus_next(usable, cpu + 1)) {
		double workers = (double)workers_ns(run, cpu);
		double busy = (double)pressure_busy_ns(&run->before, &run->after, cpu);

		elsewhere_ns -= workers;
		if (cpus_has(&cpus, cpu) && busy > workers)
			own.ns += busy - workers;
	}
	if (elsewhere_ns > 0)
		own.ns = own.ns > elsewhere_ns ? own.ns - elsewhere_ns : 0;
	own.share = own.ns / ((double)pressure->elapsed_ns * count);
	return own.share > all.share ? own : all;
}
