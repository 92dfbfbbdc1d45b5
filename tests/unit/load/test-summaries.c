// SPDX-License-Identifier: GPL-2.0-or-later
/* From reports to the figures of a group. */
#include "test.h"

#include <math.h>
#include <signal.h>

#include "load/made-run.h"

CASE(reports_are_summed_up)
{
	const struct summary *summary;
	struct made made;

	make(&made, 4);
	summary = made.summaries;
	lose(&made, 3, EXIT_TIMED_OUT, 0);
	report_of(&made, 1)->iterations = 500;
	report_of(&made, 2)->cpu_time_ns = 2 * NS_PER_S;
	for (unsigned int i = 0; i < 4; i += 2) {
		report_of(&made, i)->schedstat_measured = 1;
		report_of(&made, i)->schedstat[1] = 7;
		report_of(&made, i)->schedstat[2] = 9;
	}
	/* read, but not believed */
	report_of(&made, 1)->schedstat[1] = 1000;
	report_of(&made, 0)->numa_measured = 1;
	report_of(&made, 0)->numa_pages[63] = 5;
	report_of(&made, 1)->numa_pages[63] = 1000;
	made.worker_groups[0].worker_group.numa_migrated = 12;
	made.worker_groups[0].worker_group.numa_migrated_measured = true;
	judge(&made);
	assert_int_equal(summary->workers, 4);
	assert_int_equal(summary->completed, 3);
	assert_int_equal(summary->work_units, 3 * 1024000);
	assert_int_equal(summary->iterations, 2500);
	assert_int_equal(summary->cpu_ns, 12 * NS_PER_S);
	assert_int_equal(summary->wall_ns, 30 * NS_PER_S);
	assert_int_equal(summary->off_cpu_ns, 18 * NS_PER_S);
	assert_int_equal(summary->migrations, 30);
	assert_int_equal(cpus_count(&summary->cpus_used), 3);
	assert_int_equal(summary->schedstats, 2);
	assert_int_equal(summary->run_delay_ns, 14);
	assert_int_equal(summary->run_count, 18);
	assert_true(summary->iteration_rate == 250);
	assert_true(summary->slowest == 50 && summary->fastest == 100);
	assert_true(summary->off_cpu_least == 0.5 && summary->off_cpu_most == 0.8);
	assert_int_equal(summary->timed, 3);
	assert_int_equal(summary->numas, 1);
	assert_int_equal(summary->numa_pages[63], 5);
	assert_int_equal(summary->numa_migrated, 12);
	assert_true(summary->numa_migrated_measured);
	unmake(&made);
}

CASE(of_no_reports_nothing_is_known)
{
	const struct summary *summary;
	struct made made;

	make(&made, 2);
	summary = made.summaries;
	lose(&made, 0, EXIT_SIGNALED, SIGKILL);
	lose(&made, 1, EXIT_SIGNALED, SIGKILL);
	judge(&made);
	assert_int_equal(summary->completed, 0);
	assert_int_equal(summary->timed, 0);
	assert_true(isnan(summary->slowest) && isnan(summary->fastest) &&
		    isnan(summary->off_cpu_least) && isnan(summary->off_cpu_most) &&
		    isnan(summary->throughput_cv));
	assert_int_equal(summary->samples[SAMPLES_RESUME].count, 0);
	assert_false(summary->numa_migrated_measured);
	unmake(&made);
}

CASE(samples_of_workers_are_pooled)
{
	const struct sample_summary *resume, *cost;
	struct made made;

	make(&made, 3);
	resume = &made.summaries[0].samples[SAMPLES_RESUME];
	cost = &made.summaries[0].samples[SAMPLES_COST];
	put_samples(&made, 0, SAMPLES_RESUME, 500, 1, 1);
	put_samples(&made, 1, SAMPLES_RESUME, 500, 501, 1);
	put_samples(&made, 2, SAMPLES_RESUME, 500, 1000000, 1);
	put_samples(&made, 0, SAMPLES_COST, 1, 77, 0);
	lose(&made, 2, EXIT_SIGNALED, SIGKILL);
	judge(&made);
	assert_int_equal(resume->count, 1000);
	assert_int_equal(resume->p50, 500);
	assert_int_equal(resume->p90, 900);
	assert_int_equal(resume->p99, 990);
	assert_int_equal(resume->p999, 999);
	assert_int_equal(resume->max, 1000);
	assert_int_equal(cost->p50, 77);
	assert_int_equal(made.summaries[0].samples[SAMPLES_WAKE_TO_RUN].total, 0);
	/* a full reservoir stands for all that was seen: 200,000 of 200,300 */
	put_samples(&made, 0, SAMPLES_RESUME, 200000, 5000, 0);
	put_samples(&made, 1, SAMPLES_RESUME, 300, 9000, 0);
	judge(&made);
	assert_int_equal(resume->count, 100300);
	assert_int_equal(resume->total, 200300);
	assert_int_equal(resume->p99, 5000);
	assert_int_equal(resume->p999, 9000);
	unmake(&made);
}

CASE(work_is_divided_over_places)
{
	struct summary_place places[3];
	struct made made;

	make(&made, 3);
	for (unsigned int i = 0; i < 3; i++) {
		struct worker_cpu *cpus =
			shared_cpus(&made.worker_groups[0].worker_group.shared, i);

		cpus[0] = (struct worker_cpu){.cpu_ns = 10, .work_units = 1};
		cpus[1] = (struct worker_cpu){.cpu_ns = 5 + i, .work_units = 2};
	}
	/* one that did not look does not know where it was, and one did not report */
	report_of(&made, 1)->looks = 0;
	lose(&made, 2, EXIT_TIMED_OUT, 0);
	summary_places(places, made.pointers[0], &made.topology.nodes);
	assert_true(places[0].cpu_ns == 15 && places[0].work_units == 3);
	assert_true(!places[1].cpu_ns && !places[2].cpu_ns && !places[1].work_units);
	unmake(&made);
}

/* Between which CPUs, for each of a worker's migrations that were kept. */
static void migrate(struct made *made, unsigned int worker, const unsigned int (*pairs)[2],
		    uint32_t kept, uint32_t all)
{
	struct group_worker *moved = &made->worker_groups[0].worker_group.workers[worker];
	struct worker_report *report =
		realloc(moved->received, sizeof(*report) + kept * sizeof(struct report_migration));
	struct report_migration *migrations = (struct report_migration *)(report + 1);

	assert_non_null(report);
	moved->received = (char *)report;
	report->migrations_kept = kept;
	report->migration_count = all;
	for (uint32_t i = 0; i < kept; i++)
		migrations[i] =
			(struct report_migration){.from_cpu = pairs[i][0], .to_cpu = pairs[i][1]};
	assert_ptr_equal(worker_group_migrations(moved), migrations);
}

/* CPUs 0 to 7: a cache for each two, a node for each four. */
CASE(migrations_cross_caches_and_nodes)
{
	static const unsigned int pairs[][2] = {{0, 1}, {1, 2}, {3, 4}, {7, 6}};
	static const unsigned int of_node[][2] = {{0, 3}, {3, 0}};
	struct topology_part llcs[4] = {{.id = 0}}, nodes[2] = {{.id = 0}};
	struct topology topology = {.llcs = {llcs, 4, 4}, .nodes = {nodes, 2, 2}};
	struct summary summary = {.workers = 4};
	struct made made;

	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		cpus_add(&llcs[cpu / 2].cpus, cpu);
		cpus_add(&nodes[cpu / 4].cpus, cpu);
	}
	make(&made, 4);
	migrate(&made, 0, pairs, 4, 4);
	summary_add_crossings(&summary, &made.worker_groups[0], &topology);
	assert_true(summary.cross_llc == 2 && summary.cross_node == 1);
	/* of ten times as many as were kept, as many cross; others are added; one kept none */
	summary = (struct summary){.workers = 4};
	migrate(&made, 0, pairs, 4, 40);
	migrate(&made, 1, of_node, 2, 2);
	migrate(&made, 2, pairs, 0, 1000);
	/* nor does one count that is not believed */
	migrate(&made, 3, pairs, 4, 4);
	lose(&made, 3, EXIT_TIMED_OUT, 0);
	summary_add_crossings(&summary, &made.worker_groups[0], &topology);
	assert_true(summary.cross_llc == 22 && summary.cross_node == 10);
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(reports_are_summed_up),
		cmocka_unit_test(migrations_cross_caches_and_nodes),
		cmocka_unit_test(of_no_reports_nothing_is_known),
		cmocka_unit_test(samples_of_workers_are_pooled),
		cmocka_unit_test(work_is_divided_over_places),
	};

	return RUN(cases);
}
