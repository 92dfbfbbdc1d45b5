/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run that is over, made by hand: reports of workers as they might have come back. */
#ifndef DWELL_UNIT_LOAD_MADE_RUN_H
#define DWELL_UNIT_LOAD_MADE_RUN_H

#include "base/duration.h"
#include "load/checks.h"

#define GROUPS 2

/* What was run, and what came of it. */
struct made {
	struct spec spec;
	struct spec_work work;
	struct topology topology;
	struct topology_part nodes[3];
	struct run run;
	struct run_group worker_groups[GROUPS];
	struct run_group *pointers[GROUPS];
	struct summary summaries[GROUPS];
	struct check_results check_results;
	struct pressure pressure; /* nothing of it is known, unless a case says so */
};

static inline void add_group(struct made *made, unsigned int workers)
{
	struct run_group *worker_group = &made->worker_groups[made->run.worker_group_count];
	struct error error = {""};

	made->pointers[made->run.worker_group_count++] = worker_group;
	worker_group->group =
		(struct plan_group){.work = &made->work, .count = workers, .team_size = 1};
	worker_group->worker_group = (struct worker_group){
		.group = &worker_group->group, .forked = workers, .start_fd = -1};
	assert_int_equal(shared_init(&worker_group->worker_group.shared, workers, 1, 1, 0, &error),
			 0);
	worker_group->worker_group.workers =
		calloc(workers, sizeof(*worker_group->worker_group.workers));
	assert_int_equal(cpus_parse("0-3", &worker_group->allowed, NULL), 0);
	for (unsigned int i = 0; i < workers; i++) {
		struct group_worker *worker = &worker_group->worker_group.workers[i];
		struct worker_report *report = calloc(1, sizeof(*report));

		shared_slot(&worker_group->worker_group.shared, i)->tid = 100 + i;
		*worker = (struct group_worker){.received = (char *)report, .complete = true};
		/* 10 s, half of it on the CPU; 1,000 iterations of 1,024 units */
		*report = (struct worker_report){
			.tid = 100 + i,
			.work_units = 1024000,
			.iterations = 1000,
			.cpu_time_ns = 5 * NS_PER_S,
			.wall_time_ns = 10 * NS_PER_S,
			.migration_count = 10,
			.looks = 10,
			.max_gap_ns = (i + 1) * NS_PER_MS,
			.max_gap_at_ns = i * NS_PER_S,
			.max_gap_cpu = i,
			.program_status = -1,
		};
		cpus_add(&report->cpus_used, i);
	}
}

static inline void make(struct made *made, unsigned int workers)
{
	*made = (struct made){.run = {.end = RUN_COMPLETE,
				      .started_ns = NS_PER_S,
				      .stopped_ns = 11 * NS_PER_S,
				      .hold_ns = 10 * NS_PER_S}};
	spec_init(&made->spec);
	assert_int_equal(work_type_find("spin-wait", &made->work.type, NULL), 0);
	made->run.spec = &made->spec;
	made->run.topology = &made->topology;
	made->run.worker_groups = made->pointers;
	made->topology.nodes = (struct topology_parts){made->nodes, 3, 3};
	/* CPUs 0 to 3 and 4 to 7, and one of memory alone */
	for (unsigned int i = 0; i < 8; i++)
		cpus_add(&made->nodes[i / 4].cpus, i);
	for (unsigned int i = 0; i < 3; i++)
		made->nodes[i].id = i;
	add_group(made, workers);
}

static inline void unmake(struct made *made)
{
	for (size_t i = 0; i < made->run.worker_group_count; i++) {
		for (unsigned int k = 0; k < made->worker_groups[i].worker_group.forked; k++)
			free(made->worker_groups[i].worker_group.workers[k].received);
		free(made->worker_groups[i].worker_group.workers);
		shared_release(&made->worker_groups[i].worker_group.shared);
	}
	check_results_release(&made->check_results);
	spec_release(&made->spec);
}

static inline struct worker_report *report_of(struct made *made, unsigned int worker)
{
	return (struct worker_report *)(void *)made->worker_groups[0]
		.worker_group.workers[worker]
		.received;
}

static inline void lose(struct made *made, unsigned int worker, enum exit_kind exit, int code)
{
	made->worker_groups[0].worker_group.workers[worker].complete = false;
	made->worker_groups[0].worker_group.workers[worker].exit = exit;
	made->worker_groups[0].worker_group.workers[worker].exit_code = code;
}

/* Samples of a worker, each its number and `step` more. */
static inline void put_samples(struct made *made, unsigned int worker, enum report_samples stream,
			       uint64_t count, uint64_t first, uint64_t step)
{
	uint64_t *samples =
		shared_samples(&made->worker_groups[0].worker_group.shared, worker, stream, 0);

	report_of(made, worker)->sample_totals[stream] = count;
	shared_part(&made->worker_groups[0].worker_group.shared, worker, 0)->sample_totals[stream] =
		count;
	for (uint64_t i = 0; i < reservoir_kept(count, RESERVOIR_SIZE); i++)
		samples[i] = first + i * step;
}

static inline enum verdict judge(struct made *made)
{
	check_results_release(&made->check_results);
	for (size_t i = 0; i < made->run.worker_group_count; i++)
		assert_int_equal(summary_make(made->pointers[i], &made->summaries[i]), 0);
	assert_int_equal(
		checks_judge(&made->run, made->summaries, &made->pressure, &made->check_results),
		0);
	return made->check_results.verdict;
}

#endif
