// SPDX-License-Identifier: GPL-2.0-or-later
/* What is counted of the phases of a run, by the workers and by the parent. */
#include "test.h"

#include <math.h>
#include <unistd.h>

#include "base/schedstat.h"
#include "load/made-run.h"
#include "load/phases.h"

#define PARTS 3 /* two phases, and what lies between */
#define S     NS_PER_S

/* A worker with shared memory, which looks at the clock and takes samples by hand. */
struct alone {
	struct shared_memory shared;
	struct report_migration migrations[REPORT_MIGRATIONS];
	struct worker worker;
};

static void begin(struct alone *alone)
{
	struct error error = {""};
	struct worker *worker = &alone->worker;

	assert_int_equal(shared_init(&alone->shared, 1, 1, PARTS, 0, &error), 0);
	*worker = (struct worker){
		.slot = shared_slot(&alone->shared, 0),
		.parts = shared_part(&alone->shared, 0, 0),
		.part_count = PARTS,
		.part = PARTS - 1,
		.looked_part = PARTS - 1,
		.migrations = alone->migrations,
		.last_look_ns = 1 * S,
	};
	for (int i = 0; i < SAMPLES_STREAMS; i++)
		worker->samples[i] = (struct reservoir){
			.samples = shared_samples(&alone->shared, 0, (enum report_samples)i,
						  PARTS - 1),
			.room = shared_room(&alone->shared),
		};
	worker->slot->part = PARTS - 1;
}

static void hold(struct alone *alone, unsigned int part, uint64_t began_ns, uint64_t ended_ns)
{
	alone->worker.parts[part].began_ns = began_ns;
	alone->worker.parts[part].ended_ns = ended_ns;
	alone->worker.slot->part = ended_ns ? PARTS - 1 : part;
}

CASE(a_gap_is_each_phases_as_far_as_it_lies_in_it)
{
	struct alone *alone = calloc(1, sizeof(*alone));
	struct worker_part *parts;

	begin(alone);
	parts = alone->worker.parts;
	hold(alone, 0, 2 * S, 0);
	worker_look(&alone->worker, 3 * S); /* since 1 s, of which 1 s in the phase */
	assert_int_equal(parts[0].max_gap_ns, 1 * S);
	worker_look(&alone->worker, 3 * S + S / 2);
	assert_int_equal(parts[0].max_gap_ns, 1 * S);
	/* asleep from the first phase to behind the second one */
	hold(alone, 0, 2 * S, 5 * S);
	hold(alone, 1, 6 * S, 9 * S);
	worker_look(&alone->worker, 10 * S);
	assert_int_equal(parts[0].max_gap_ns, 3 * S / 2);
	assert_int_equal(parts[1].max_gap_ns, 3 * S);
	assert_int_equal(parts[PARTS - 1].max_gap_ns, 0);
	assert_int_equal(alone->worker.report.max_gap_ns, 13 * S / 2);
	shared_release(&alone->shared);
	free(alone);
}

CASE(the_first_look_behind_a_phase_says_what_was_waited_for)
{
	struct alone *alone = calloc(1, sizeof(*alone));
	struct worker_part *parts;
	struct schedstat counted;

	begin(alone);
	parts = alone->worker.parts;
	alone->worker.schedstat_fd = schedstat_open();
	hold(alone, 0, 2 * S, 0);
	worker_look(&alone->worker, 3 * S);
	worker_look(&alone->worker, 4 * S);
	assert_int_equal(parts[0].after_begin.at_ns, 3 * S);
	assert_int_equal(parts[0].after_end.at_ns, 0);
	/* it looks again when the next one holds already */
	hold(alone, 0, 2 * S, 5 * S);
	hold(alone, 1, 6 * S, 0);
	worker_look(&alone->worker, 7 * S);
	worker_look(&alone->worker, 8 * S);
	assert_int_equal(parts[0].after_begin.at_ns, 3 * S);
	assert_int_equal(parts[0].after_end.at_ns, 7 * S);
	assert_int_equal(parts[1].after_begin.at_ns, 7 * S);
	assert_true(schedstat_read(alone->worker.schedstat_fd, &counted));
	assert_in_range(parts[1].after_begin.delay_ns, parts[0].after_begin.delay_ns,
			counted.delay_ns);
	close(alone->worker.schedstat_fd);
	shared_release(&alone->shared);
	free(alone);
}

CASE(samples_are_kept_by_phase)
{
	struct alone *alone = calloc(1, sizeof(*alone));
	struct sample_set set;

	begin(alone);
	worker_sample(&alone->worker, SAMPLES_RESUME, 1);
	hold(alone, 0, 2 * S, 0);
	for (uint64_t i = 0; i < 50000; i++)
		worker_sample(&alone->worker, SAMPLES_RESUME, 2);
	hold(alone, 0, 2 * S, 3 * S);
	worker_sample(&alone->worker, SAMPLES_RESUME, 1);
	hold(alone, 1, 4 * S, 0);
	worker_sample(&alone->worker, SAMPLES_RESUME, 3);
	worker_sample(&alone->worker, SAMPLES_COST, 4);
	worker_enter_part(&alone->worker, 1); /* as at its end */
	set = shared_sample_set(&alone->shared, 0, SAMPLES_RESUME, 0);
	assert_int_equal(set.total, 50000);
	assert_int_equal(set.count, RESERVOIR_SIZE / PARTS);
	for (uint64_t i = 0; i < set.count; i++)
		assert_int_equal(set.values[i], 2);
	set = shared_sample_set(&alone->shared, 0, SAMPLES_RESUME, 1);
	assert_true(set.total == 1 && set.count == 1 && set.values[0] == 3);
	set = shared_sample_set(&alone->shared, 0, SAMPLES_COST, 1);
	assert_true(set.total == 1 && set.values[0] == 4);
	set = shared_sample_set(&alone->shared, 0, SAMPLES_RESUME, 2);
	assert_true(set.total == 2 && set.values[0] == 1 && set.values[1] == 1);
	shared_release(&alone->shared);
	free(alone);
}

/* The second one, for the first worker. */
static void hold_part(struct run_group *group, uint64_t began_ns, uint64_t ended_ns)
{
	struct worker_part *part = shared_part(&group->worker_group.shared, 0, 1);

	part->began_ns = began_ns;
	part->ended_ns = ended_ns;
}

CASE(the_figures_of_a_phase)
{
	struct run_group *group;
	struct phase_worker workers[2 * 3] = {
		[3] = {.wall_ns = 2 * S,
		       .free_ns = 1 * S,
		       .iterations = 10,
		       .known = true,
		       .before = {S / 4, S / 4, 3},
		       .after = {3 * S / 4, S / 2, 10}},
		[4] = {.wall_ns = 2 * S, .free_ns = 2 * S, .iterations = 60},
		[5] = {.wall_ns = 2 * S, .free_ns = 2 * S, .iterations = 1000},
	};
	struct summary summary;
	struct worker_part *part;
	struct made made;

	make(&made, 3);
	group = &made.worker_groups[0];
	shared_release(&group->worker_group.shared);
	assert_int_equal(shared_init(&group->worker_group.shared, 3, 1, PARTS, 0, NULL), 0);
	lose(&made, 2, EXIT_TIMED_OUT, 0);
	for (unsigned int i = 0; i < 3; i++) {
		shared_part(&group->worker_group.shared, i, 1)->migration_count = 5 + i;
		/* of the first more than the time in which it was not frozen */
		shared_part(&group->worker_group.shared, i, 1)->max_gap_ns = 3 * S / 2 - i;
	}
	shared_part(&group->worker_group.shared, 1, 1)->sample_totals[SAMPLES_RESUME] = 1;
	*shared_samples(&group->worker_group.shared, 1, SAMPLES_RESUME, 1) = 42;
	group->phase_workers = workers;
	assert_int_equal(phases_summarize(group, 0, &summary), 0);
	assert_int_equal(summary.workers, 0);
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(summary.workers == 3 && summary.completed == 2);
	assert_int_equal(summary.iterations, 70);
	assert_true(summary.iteration_rate == 40 && summary.slowest == 10 && summary.fastest == 30);
	assert_int_equal(summary.wall_ns, 4 * S);
	assert_int_equal(summary.schedstats, 1);
	assert_true(summary.cpu_ns == S / 2 && summary.run_delay_ns == S / 4);
	assert_int_equal(summary.run_count, 7);
	/* it ran and waited for longer than there was between the freezes, as these were asked for
	 */
	workers[3].free_ns = S / 8;
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(summary.slowest == 10 / .75);
	workers[3].free_ns = 1 * S;
	/* its work began in the phase */
	hold_part(group, 4 * S, 6 * S);
	report_of(&made, 0)->began_ns = 5 * S;
	report_of(&made, 0)->schedstat_measured = 1;
	memcpy(report_of(&made, 0)->schedstat_before, (uint64_t[]){S / 2, S / 3, 8},
	       sizeof(report_of(&made, 0)->schedstat_before));
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(summary.cpu_ns == S / 4 && summary.run_delay_ns == S / 2 - S / 3);
	assert_int_equal(summary.run_count, 2);
	/* and behind it */
	report_of(&made, 0)->began_ns = 7 * S;
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(!summary.cpu_ns && !summary.run_delay_ns && !summary.run_count);
	/* it was let begin in the phase, and waited for a CPU to the end of it: its thread has none
	 * yet */
	report_of(&made, 0)->began_ns = 5 * S;
	report_of(&made, 0)->late_ns = 2 * S;
	workers[3].before = workers[3].after = (struct schedstat){0};
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(!summary.cpu_ns && summary.run_delay_ns == 1 * S && !summary.run_count);
	/* the next phase has what is left of that wait */
	hold_part(group, 6 * S, 8 * S);
	report_of(&made, 0)->schedstat_before[1] = S / 3;
	workers[3].after = (struct schedstat){S, S / 3 + 2 * S + S / 8, 9};
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(summary.cpu_ns == S / 2 && summary.run_delay_ns == 1 * S + S / 8);
	/* a wait from behind the beginning to behind the end, of which the kernel has nothing yet
	 */
	report_of(&made, 0)->late_ns = 0;
	workers[3].before = (struct schedstat){S, 2 * S, 5};
	workers[3].after = (struct schedstat){S + S / 4, 2 * S, 6};
	part = shared_part(&group->worker_group.shared, 0, 1);
	part->after_begin = (struct worker_wait){6 * S + S / 8, 2 * S};
	part->after_end = (struct worker_wait){9 * S, 2 * S + 9 * S / 4};
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(summary.cpu_ns == S / 4 && summary.run_delay_ns == 5 * S / 4);
	/* one that goes on through all of it */
	workers[3].after = workers[3].before;
	part->after_begin = part->after_end = (struct worker_wait){9 * S, 6 * S};
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(!summary.cpu_ns && summary.run_delay_ns == 2 * S && !summary.run_count);
	/* and one that ends in it, of which the kernel counts what was before it, too */
	workers[3].after = (struct schedstat){3 * S / 2, 5 * S, 6};
	part->after_begin = (struct worker_wait){7 * S, 5 * S};
	part->after_end = (struct worker_wait){8 * S + S / 8, 5 * S};
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(summary.cpu_ns == S / 2 && summary.run_delay_ns == 1 * S);
	part->after_begin = part->after_end = (struct worker_wait){0};
	/* what the kernel has counted may have been read a moment before the worker has */
	workers[3].after = (struct schedstat){0};
	assert_int_equal(phases_summarize(group, 1, &summary), 0);
	assert_true(!summary.cpu_ns && !summary.run_delay_ns && !summary.run_count);
	assert_int_equal(summary.migrations, 11);
	assert_int_equal(summary.max_gap_ns, 3 * S / 2 - 1);
	assert_int_equal(summary.max_gap_tid, 101);
	assert_int_equal(summary.samples[SAMPLES_RESUME].p50, 42);
	group->phase_workers = NULL;
	unmake(&made);
}

CASE(one_phase_is_what_the_run_is)
{
	struct spec_phase phases[PHASES_MEASURED_MOST + 1];
	struct spec spec = {.phases = {.items = phases}};

	for (spec.phases.count = 0; spec.phases.count < 2; spec.phases.count++)
		assert_int_equal(phases_measured(&spec), 0);
	assert_int_equal(phases_measured(&spec), 2);
	spec.phases.count = PHASES_MEASURED_MOST;
	assert_int_equal(phases_measured(&spec), PHASES_MEASURED_MOST);
	spec.phases.count++;
	assert_int_equal(phases_measured(&spec), 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_gap_is_each_phases_as_far_as_it_lies_in_it),
		cmocka_unit_test(the_first_look_behind_a_phase_says_what_was_waited_for),
		cmocka_unit_test(samples_are_kept_by_phase),
		cmocka_unit_test(the_figures_of_a_phase),
		cmocka_unit_test(one_phase_is_what_the_run_is),
	};

	return RUN(cases);
}
