// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/summary.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

uint64_t report_free_ns(const struct worker_report *report)
{
	return report->wall_time_ns > report->paused_ns ? report->wall_time_ns - report->paused_ns
							: 0;
}

/* Of one worker, without the time in which it was frozen. Shares and rates of nothing are NAN. */
static double report_off_cpu_share(const struct worker_report *report)
{
	uint64_t wall_ns = report_free_ns(report);

	return ratio(wall_ns > report->cpu_time_ns ? wall_ns - report->cpu_time_ns : 0, wall_ns);
}

double report_iteration_rate(const struct worker_report *report)
{
	return 1e9 * ratio(report->iterations, report_free_ns(report));
}

double report_work_rate(const struct worker_report *report)
{
	return 1e9 * ratio(report->work_units, report->cpu_time_ns);
}

static void add_gap(struct summary *summary, const struct worker_report *report)
{
	if (report->max_gap_ns < summary->max_gap_ns)
		return;
	summary->max_gap_ns = report->max_gap_ns;
	summary->max_gap_at_ns = report->max_gap_at_ns;
	summary->max_gap_cpu = report->max_gap_cpu;
	summary->max_gap_tid = report->tid;
}

static void add_rates(struct summary *summary, const struct worker_report *report)
{
	double rate = report_iteration_rate(report), off = report_off_cpu_share(report);

	if (isnan(rate))
		return;
	if (isnan(summary->slowest) || rate < summary->slowest)
		summary->slowest = rate;
	if (isnan(summary->fastest) || rate > summary->fastest)
		summary->fastest = rate;
	if (isnan(summary->off_cpu_least) || off < summary->off_cpu_least)
		summary->off_cpu_least = off;
	if (isnan(summary->off_cpu_most) || off > summary->off_cpu_most)
		summary->off_cpu_most = off;
	summary->iteration_rate += rate;
	summary->timed++;
}

static void add(struct summary *summary, const struct worker_report *report)
{
	summary->completed++;
	summary->work_units += report->work_units;
	summary->iterations += report->iterations;
	summary->cpu_ns += report->cpu_time_ns;
	summary->cpu_squares += (double)report->cpu_time_ns * (double)report->cpu_time_ns;
	summary->wall_ns += report->wall_time_ns;
	summary->off_cpu_ns += report_off_cpu_ns(report);
	cpus_unite(&summary->cpus_used, &report->cpus_used);
	if (report->looks) {
		summary->looked++;
		summary->migrations += report->migration_count;
		add_gap(summary, report);
	}
	add_rates(summary, report);
	if (report->schedstat_measured) {
		summary->schedstats++;
		summary->run_delay_ns += report->schedstat[1];
		summary->run_count += report->schedstat[2];
	}
	if (report->numa_measured)
		summary->numas++;
	for (size_t i = 0; report->numa_measured && i < REPORT_NODES; i++)
		summary->numa_pages[i] += report->numa_pages[i];
}

int summary_add_samples(struct summary *summary, const struct run_group *worker_group,
			unsigned int first, unsigned int parts)
{
	const struct worker_group *group = &worker_group->worker_group;
	cleanup_free struct sample_set *sets =
		calloc((size_t)group->forked * parts + 1, sizeof(*sets));
	int result = sets ? 0 : -ENOMEM;

	for (int stream = 0; result >= 0 && stream < SAMPLES_STREAMS; stream++) {
		size_t count = 0;

		for (unsigned int i = 0; i < group->forked; i++)
			for (unsigned int k = first; k < first + parts; k++)
				if (worker_group_report(&group->workers[i]))
					sets[count++] = shared_sample_set(
						&group->shared, i, (enum report_samples)stream, k);
		result = samples_summarize(sets, count, &summary->samples[stream]);
	}
	return result;
}

static int add_throughput(const struct run_group *worker_group, struct summary *summary)
{
	unsigned int count = worker_group->worker_group.forked, known = 0;
	cleanup_free double *rates = calloc(count ? count : 1, sizeof(*rates));

	if (!rates)
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		const struct worker_report *report =
			worker_group_report(&worker_group->worker_group.workers[i]);
		double rate = report ? report_work_rate(report) : NAN;

		if (!isnan(rate))
			rates[known++] = rate;
	}
	if (known >= 2 && summary->work_units)
		summary->throughput_cv = samples_cv(rates, known);
	return 0;
}

int summary_make(const struct run_group *worker_group, struct summary *ret_summary)
{
	struct summary summary = {
		.workers = worker_group->group.count,
		.slowest = NAN,
		.fastest = NAN,
		.off_cpu_least = NAN,
		.off_cpu_most = NAN,
		.throughput_cv = NAN,
		.numa_migrated = worker_group->worker_group.numa_migrated,
		.numa_migrated_measured = worker_group->worker_group.numa_migrated_measured,
	};
	int result;

	for (unsigned int i = 0; i < worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&worker_group->worker_group.workers[i]);

		if (report)
			add(&summary, report);
	}
	result = summary_add_samples(&summary, worker_group, 0,
				     worker_group->worker_group.shared.parts);
	if (result >= 0)
		result = add_throughput(worker_group, &summary);
	if (result >= 0)
		*ret_summary = summary;
	return result;
}

static bool is_crossing(const struct topology_parts *parts,
			const struct report_migration *migration)
{
	for (size_t i = 0; i < parts->count; i++)
		if (cpus_has(&parts->items[i].cpus, migration->from_cpu))
			return !cpus_has(&parts->items[i].cpus, migration->to_cpu);
	return false;
}

void summary_add_crossings(struct summary *summary, const struct run_group *worker_group,
			   const struct topology *topology)
{
	for (unsigned int i = 0; i < worker_group->worker_group.forked; i++) {
		const struct group_worker *worker = &worker_group->worker_group.workers[i];
		const struct worker_report *report = worker_group_report(worker);
		const struct report_migration *migrations;
		unsigned int llc = 0, node = 0;
		double each;

		if (!report || !report->migrations_kept)
			continue;
		migrations = worker_group_migrations(worker);
		for (uint32_t k = 0; k < report->migrations_kept; k++) {
			llc += is_crossing(&topology->llcs, &migrations[k]);
			node += is_crossing(&topology->nodes, &migrations[k]);
		}
		each = (double)report->migration_count / (double)report->migrations_kept;
		summary->cross_llc += llc * each;
		summary->cross_node += node * each;
	}
}

static void add_place(struct summary_place *place, const struct worker_cpu *cpus,
		      unsigned int count, const struct cpus *of)
{
	for (unsigned int cpu = cpus_next(of, 0); cpu < count; cpu = cpus_next(of, cpu + 1)) {
		place->cpu_ns += cpus[cpu].cpu_ns;
		place->work_units += cpus[cpu].work_units;
	}
}

void summary_places(struct summary_place *ret_places, const struct run_group *worker_group,
		    const struct topology_parts *parts)
{
	const struct worker_group *group = &worker_group->worker_group;

	memset(ret_places, 0, parts->count * sizeof(*ret_places));
	for (unsigned int i = 0; i < group->forked; i++) {
		const struct worker_report *report = worker_group_report(&group->workers[i]);

		for (size_t k = 0; report && report->looks && k < parts->count; k++)
			add_place(&ret_places[k], shared_cpus(&group->shared, i),
				  group->shared.cpus, &parts->items[k].cpus);
	}
}

double summary_fairness(const struct summary *summary)
{
	double sum = (double)summary->cpu_ns;

	return summary->completed > 1 && summary->cpu_squares > 0
		       ? sum * sum / (summary->completed * summary->cpu_squares)
		       : NAN;
}

/* One with an affinity of its own; an op may have given it another one meanwhile. */
static struct cpus cpus_of_worker(const struct run_group *worker_group, unsigned int number,
				  const struct worker_report *report)
{
	struct cpus cpus = worker_group->allowed;

	if (worker_group->group.cpus) {
		cpus = worker_group->group.cpus[number];
		cpus_unite(&cpus, &report->cpus_used);
		cpus_intersect(&cpus, &worker_group->allowed);
	}
	return cpus;
}

uint64_t summary_local_pages(const struct run_group *worker_group,
			     const struct topology_parts *nodes)
{
	uint64_t chosen = worker_group->group.work->memory.nodes, pages = 0;

	for (unsigned int i = 0; i < worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&worker_group->worker_group.workers[i]);
		struct cpus cpus;

		if (!report || !report->numa_measured)
			continue;
		cpus = cpus_of_worker(worker_group, i, report);
		for (size_t j = 0; j < nodes->count; j++) {
			struct cpus shared = nodes->items[j].cpus;
			unsigned int id = nodes->items[j].id;

			cpus_intersect(&shared, &cpus);
			if (id < REPORT_NODES &&
			    (chosen ? chosen >> id & 1 : cpus_count(&shared) > 0))
				pages += report->numa_pages[id];
		}
	}
	return pages;
}

uint64_t summary_pages(const struct summary *summary)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < REPORT_NODES; i++)
		pages += summary->numa_pages[i];
	return pages;
}
