// SPDX-License-Identifier: GPL-2.0-or-later
/* From reports to a verdict. */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>

#include "load/made-run.h"

/* The nth check_result of a check. */
static const struct check_result *found(const struct made *made, const char *key,
					unsigned int number)
{
	for (size_t i = 0; i < made->check_results.count; i++)
		if (!strcmp(made->check_results.items[i].check->key, key) && !number--)
			return &made->check_results.items[i];
	return NULL;
}

static void assert_finding(const struct made *made, const char *key, unsigned int number,
			   enum verdict verdict, uint32_t tid, const char *text)
{
	const struct check_result *check_result = found(made, key, number);

	assert_non_null(check_result);
	assert_string_equal(check_result->text, text);
	assert_string_equal(verdict_names[check_result->verdict], verdict_names[verdict]);
	assert_int_equal(check_result->tid, tid);
	assert_ptr_equal(check_result->worker_group,
			 strcmp(key, "run") ? &made->worker_groups[0] : NULL);
}

/* That there is this one and no other. */
static void assert_only(const struct made *made, const char *key, enum verdict verdict,
			uint32_t tid, const char *text)
{
	assert_finding(made, key, 0, verdict, tid, text);
	assert_null(found(made, key, 1));
}

CASE(without_checks_reports_are_enough)
{
	struct made made;

	make(&made, 2);
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_int_equal(made.check_results.count, 1);
	assert_only(&made, "completed", VERDICT_PASS, 0, "2 workers reported");
	unmake(&made);
	make(&made, 1);
	judge(&made);
	assert_only(&made, "completed", VERDICT_PASS, 0, "1 worker reported");
	unmake(&made);
	/* nothing was run at all */
	make(&made, 1);
	made.run.worker_group_count = 0;
	assert_int_equal(judge(&made), VERDICT_SKIP);
	made.run.worker_group_count = 1;
	unmake(&made);
}

CASE(missing_reports_say_what_became_of_the_worker)
{
	static const struct {
		enum exit_kind exit;
		int code;
		const char *text;
	} ends[] = {
		{EXIT_EXITED, 3, "ended without a report, with status 3"},
		{EXIT_SIGNALED, SIGKILL, "was killed by signal 9 (Killed)"},
		{EXIT_SIGNALED, SIGSEGV, "was killed by signal 11 (Segmentation fault)"},
		{EXIT_TIMED_OUT, 0, "did not report in time, and was killed"},
		{EXIT_WAIT_FAILED, ECHILD, "was lost: No child processes"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct made made;

		make(&made, 3);
		lose(&made, 1, ends[i].exit, ends[i].code);
		assert_int_equal(judge(&made), VERDICT_FAIL);
		assert_only(&made, "completed", VERDICT_FAIL, 101, ends[i].text);
		assert_int_equal(made.summaries[0].workers, 3);
		assert_int_equal(made.summaries[0].completed, 2);
		unmake(&made);
	}
}

CASE(work_that_went_wrong_fails)
{
	struct made made;

	make(&made, 4);
	strcpy(report_of(&made, 0)->work_error, "cannot write: No space left on device");
	report_of(&made, 1)->program_ended = 1;
	report_of(&made, 1)->program_status = 2 << 8;
	report_of(&made, 2)->program_ended = 1;
	report_of(&made, 2)->program_status = SIGABRT;
	report_of(&made, 3)->program_ended = 1;
	report_of(&made, 3)->program_status = 0;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_finding(&made, "worked", 0, VERDICT_FAIL, 100,
		       "cannot write: No space left on device");
	assert_finding(&made, "worked", 1, VERDICT_FAIL, 101, "its program ended with status 2");
	assert_finding(&made, "worked", 2, VERDICT_FAIL, 102, "its program ended with signal 6");
	assert_null(found(&made, "worked", 3));
	assert_only(&made, "completed", VERDICT_PASS, 0, "4 workers reported");
	unmake(&made);
}

CASE(the_end_of_the_run_counts)
{
	struct made made;

	make(&made, 1);
	made.run.end = RUN_INTERRUPTED;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "run", VERDICT_INCONCLUSIVE, 0, "interrupted before its end");
	made.run.end = RUN_SCHEDULER_DIED;
	strcpy(made.run.scheduler.reason, "runtime error: stall");
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "run", VERDICT_FAIL, 0, "the scheduler died: runtime error: stall");
	unmake(&made);
}

CASE(starved_workers_are_found)
{
	struct made made;

	make(&made, 3);
	made.spec.checks.not_starved = true;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "not-starved", VERDICT_PASS, 0, "all workers worked");
	report_of(&made, 1)->work_units = 0;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "not-starved", VERDICT_FAIL, 101, "starved: no work units");
	assert_only(&made, "completed", VERDICT_PASS, 0,
		    "3 workers reported, 1 of them without any work");
	/* one that was cut short, or meant to be: it may have been about to */
	made.run.stopped_ns = made.run.started_ns + 7 * NS_PER_MS;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "not-starved", VERDICT_INCONCLUSIVE, 101,
		    "no work units, in a run of 7.0ms");
	made.run.stopped_ns = made.run.started_ns + 10 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	/* a worker that was frozen but for a moment, as one that was spawned in the last one */
	report_of(&made, 1)->iterations = 0;
	report_of(&made, 1)->paused_ns = report_of(&made, 1)->wall_time_ns - 5 * NS_PER_MS;
	made.spec.checks.min_iteration_rate = 1;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "not-starved", VERDICT_INCONCLUSIVE, 101, "no work units, in its 5.0ms");
	assert_non_null(found(&made, "min-iteration-rate", 0));
	report_of(&made, 1)->paused_ns = 0;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.spec.checks.min_iteration_rate = NAN;
	/* nothing is known of those that did not report */
	for (unsigned int i = 0; i < 3; i++)
		lose(&made, i, EXIT_EXITED, 0);
	judge(&made);
	assert_null(found(&made, "not-starved", 0));
	unmake(&made);
}

CASE(gaps_are_judged)
{
	struct made made;

	make(&made, 3);
	made.spec.checks.max_gap_ns = 3e6;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "max-gap", VERDICT_PASS, 0, "worst 3.0ms, limit 3.0ms");
	assert_true(found(&made, "max-gap", 0)->value == 3e6);
	assert_true(found(&made, "max-gap", 0)->limit == 3e6);
	made.spec.checks.max_gap_ns = 1.5e6;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_finding(&made, "max-gap", 0, VERDICT_FAIL, 101, "2.0ms, limit 1.5ms");
	assert_finding(&made, "max-gap", 1, VERDICT_FAIL, 102, "3.0ms, limit 1.5ms");
	assert_null(found(&made, "max-gap", 2));
	assert_int_equal(made.summaries[0].max_gap_ns, 3 * NS_PER_MS);
	assert_int_equal(made.summaries[0].max_gap_tid, 102);
	assert_int_equal(made.summaries[0].max_gap_cpu, 2);
	assert_int_equal(made.summaries[0].max_gap_at_ns, 2 * NS_PER_S);
	unmake(&made);
}

/* Ten seconds of two CPUs, of which others had a part. */
static void take(struct made *made, double share)
{
	uint64_t all_ns = 20 * NS_PER_S;

	made->pressure = (struct pressure){.measured = true,
					   .elapsed_ns = 10 * NS_PER_S,
					   .cpu_ns = all_ns,
					   .others_ns = (uint64_t)(share * (double)all_ns)};
}

CASE(others_on_the_few_cpus_of_a_group_count)
{
	struct machine_time none[64] = {{0}}, busy[64] = {{0}};
	struct made made;

	make(&made, 1);
	made.spec.checks.max_gap_ns = 2e9;
	report_of(&made, 0)->max_gap_ns = 3 * NS_PER_S;
	assert_int_equal(cpus_parse("0-63", &made.topology.usable, NULL), 0);
	/* of 64 CPUs others had all of one, and the workers half of another */
	made.pressure = (struct pressure){.measured = true,
					  .elapsed_ns = 10 * NS_PER_S,
					  .cpu_ns = 640 * NS_PER_S,
					  .own_ns = 5 * NS_PER_S,
					  .others_ns = 10 * NS_PER_S};
	made.run.before.cpus = none;
	made.run.after.cpus = busy;
	made.run.before.cpu_count = made.run.after.cpu_count = 64;
	shared_cpus(&made.worker_groups[0].worker_group.shared, 0)[0].cpu_ns = 5 * NS_PER_S;
	busy[0].busy_ns = 5 * NS_PER_S;
	busy[9].busy_ns = 10 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	/* of the group's */
	busy[9].busy_ns = 0;
	busy[0].busy_ns = 15 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_finding(&made, "max-gap", 0, VERDICT_INCONCLUSIVE, 100,
		       "3.00s, limit 2.00s; but others had 25 % of its CPUs' time");
	/* dwell's own, or the scheduler's, is not theirs */
	made.pressure.own_ns = 15 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	/* one that may use all of them could have gone elsewhere */
	made.pressure.own_ns = 5 * NS_PER_S;
	made.worker_groups[0].allowed = made.topology.usable;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.run.before.cpus = made.run.after.cpus = NULL;
	unmake(&made);
}

CASE(what_others_may_have_done_is_inconclusive)
{
	struct made made;

	make(&made, 1);
	made.spec.checks.max_gap_ns = 2e9;
	report_of(&made, 0)->max_gap_ns = 3 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	take(&made, .04);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	take(&made, .4);
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_finding(&made, "max-gap", 0, VERDICT_INCONCLUSIVE, 100,
		       "3.00s, limit 2.00s; but others had 40 % of the CPUs' time");
	/* 9 s more than allowed, and they had 8 */
	report_of(&made, 0)->max_gap_ns = 11 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	/* a hundred times the limit is not theirs */
	made.spec.checks.max_gap_ns = 1e7;
	report_of(&made, 0)->max_gap_ns = NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.spec.checks.max_gap_ns = NAN;
	made.spec.checks.not_starved = true;
	report_of(&made, 0)->work_units = 0;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	take(&made, .2);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.spec.checks.not_starved = false;
	/* 100 a second, where 120 are wanted: a fifth less */
	made.spec.checks.min_iteration_rate = 120;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	made.spec.checks.min_iteration_rate = 150;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.spec.checks.min_iteration_rate = NAN;
	/* a worker that was killed for its time; one that died did so by itself */
	lose(&made, 0, EXIT_TIMED_OUT, 0);
	made.worker_groups[0].worker_group.workers[0].lacks_cpu = true;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	take(&made, .4);
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	/* one that ended just before it would have been killed */
	lose(&made, 0, EXIT_EXITED, 0);
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	lose(&made, 0, EXIT_SIGNALED, SIGSEGV);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	lose(&made, 0, EXIT_TIMED_OUT, 0);
	/* one that had a CPU, and did not stop */
	made.worker_groups[0].worker_group.workers[0].lacks_cpu = false;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	lose(&made, 0, EXIT_EXITED, 1);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	unmake(&made);
}

CASE(what_a_limit_around_it_held_up_is_inconclusive)
{
	struct made made;

	make(&made, 1);
	made.spec.checks.max_gap_ns = 2e7;
	report_of(&made, 0)->max_gap_ns = 80 * NS_PER_MS;
	take(&made, 0);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.pressure.throttled_ns = NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_finding(&made, "max-gap", 0, VERDICT_INCONCLUSIVE, 100,
		       "80.0ms, limit 20.0ms; but a CPU limit around dwell (cpu.max) held it up "
		       "for 1.00s");
	/* which is of all CPUs together, and so many workers may have been */
	made.run.workers = 8;
	assert_int_equal(cpus_parse("0-7", &made.topology.usable, NULL), 0);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.pressure.throttled_ns = 8 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	/* a rate of a tenth is not that of a worker which may run for nine tenths of the time */
	made.spec.checks.max_gap_ns = NAN;
	made.spec.checks.min_iteration_rate = 1000;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	made.spec.checks.min_iteration_rate = 105;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	made.spec.checks.min_iteration_rate = NAN;
	made.spec.checks.max_gap_ns = 2e7;
	/* longer than it was held up in all */
	report_of(&made, 0)->max_gap_ns = 3 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	unmake(&made);
}

CASE(a_group_that_did_nothing_fails)
{
	struct made made;

	make(&made, 1);
	report_of(&made, 0)->work_units = report_of(&made, 0)->iterations = 0;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_finding(&made, "worked", 0, VERDICT_FAIL, 0,
		       "none of the workers came to the end of an iteration");
	/* it was frozen all the time */
	report_of(&made, 0)->paused_ns = 10 * NS_PER_S - NS_PER_MS;
	assert_int_equal(judge(&made), VERDICT_PASS);
	unmake(&made);
}

/* Of a run that short nothing can be said: it does not pass, either. */
CASE(a_group_that_did_nothing_in_no_time_is_inconclusive)
{
	struct made made;

	make(&made, 1);
	report_of(&made, 0)->work_units = report_of(&made, 0)->iterations = 0;
	report_of(&made, 0)->wall_time_ns = 99 * NS_PER_MS;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_finding(&made, "worked", 0, VERDICT_INCONCLUSIVE, 0,
		       "none of the workers came to the end of an iteration, in too little time "
		       "to judge");
	report_of(&made, 0)->iterations = 1;
	assert_int_equal(judge(&made), VERDICT_PASS);
	unmake(&made);
}

CASE(refused_settings_fail_where_that_is_asked_for)
{
	struct made made;

	make(&made, 2);
	snprintf(report_of(&made, 1)->policy_error, REPORT_TEXT, "fifo:10: not permitted");
	assert_int_equal(judge(&made), VERDICT_PASS);
	made.spec.checks.settings = true;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_finding(&made, "settings", 0, VERDICT_FAIL, 101, "fifo:10: not permitted");
	*report_of(&made, 1)->policy_error = '\0';
	assert_int_equal(judge(&made), VERDICT_PASS);
	unmake(&made);
}

CASE(slow_wakeups_may_be_by_others)
{
	struct made made;

	make(&made, 1);
	put_samples(&made, 0, SAMPLES_WAKE_TO_RUN, 200, 1000, 10);
	made.spec.checks.wake_p99_ns = 2500;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	take(&made, .1);
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	/* they did not delay half of them */
	made.spec.checks.wake_p99_ns = 1500;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	unmake(&made);
}

CASE(the_spread_of_off_cpu_shares_is_judged)
{
	struct made made;

	make(&made, 3);
	made.spec.checks.max_spread = 0.15;
	report_of(&made, 2)->cpu_time_ns = 6 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "max-spread", VERDICT_PASS, 0, "10.0%, limit 15.0%");
	report_of(&made, 1)->cpu_time_ns = 4 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "max-spread", VERDICT_FAIL, 0, "20.0%, limit 15.0%");
	/* more CPU time than wall time is none off it */
	report_of(&made, 1)->cpu_time_ns = 11 * NS_PER_S;
	judge(&made);
	assert_only(&made, "max-spread", VERDICT_FAIL, 0, "50.0%, limit 15.0%");
	/* of two that ran for no time and one that did nothing can be reported */
	report_of(&made, 0)->wall_time_ns = report_of(&made, 1)->wall_time_ns = 0;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "max-spread", VERDICT_INCONCLUSIVE, 0,
		    "fewer than two workers can be compared");
	lose(&made, 0, EXIT_EXITED, 0);
	lose(&made, 1, EXIT_EXITED, 0);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "max-spread", VERDICT_INCONCLUSIVE, 0,
		    "fewer than two workers can be compared");
	unmake(&made);
	make(&made, 1);
	made.spec.checks.max_spread = 0.15;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "max-spread", VERDICT_SKIP, 0, "a single worker");
	unmake(&made);
}

CASE(isolation_is_judged_by_cpus_used)
{
	struct made made;

	make(&made, 3);
	made.spec.checks.isolation = true;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "isolation", VERDICT_PASS, 0, "all within CPUs 0-3");
	cpus_add(&report_of(&made, 1)->cpus_used, 5);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "isolation", VERDICT_FAIL, 101,
		    "ran on CPUs 1,5, of which 0-3 are allowed");
	unmake(&made);
}

CASE(waits_are_judged_pooled)
{
	struct made made;

	make(&made, 2);
	made.spec.checks.wake_p99_ns = 198000;
	made.spec.checks.wake_cv = 1;
	/* 1 to 200 us together */
	put_samples(&made, 0, SAMPLES_RESUME, 100, 1000, 1000);
	put_samples(&made, 1, SAMPLES_RESUME, 100, 101000, 1000);
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "wake-p99", VERDICT_PASS, 0, "wait 198us, limit 198us");
	assert_only(&made, "wake-cv", VERDICT_PASS, 0, "wait 0.5745, limit 1");
	made.spec.checks.wake_p99_ns = 197999;
	made.spec.checks.wake_cv = 0.5;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "wake-p99", VERDICT_FAIL, 0, "wait 198us, limit 197us");
	assert_only(&made, "wake-cv", VERDICT_FAIL, 0, "wait 0.5745, limit 0.5");
	/* where there is a waker, what it says is better */
	put_samples(&made, 1, SAMPLES_WAKE_TO_RUN, 100, 5000, 0);
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "wake-p99", VERDICT_PASS, 0, "wake to run 5us, limit 197us");
	assert_only(&made, "wake-cv", VERDICT_PASS, 0, "wake to run 0, limit 0.5");
	unmake(&made);
}

CASE(few_waits_are_inconclusive)
{
	struct made made;

	make(&made, 2);
	made.spec.checks.wake_p99_ns = 1;
	made.spec.checks.wake_cv = 0;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "wake-p99", VERDICT_SKIP, 0, "spin-wait has no waits to measure");
	assert_only(&made, "wake-cv", VERDICT_SKIP, 0, "spin-wait has no waits to measure");
	/* of a type that waits they are not what there is to it */
	assert_int_equal(work_type_find("pipe-io", &made.work.type, NULL), 0);
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "wake-p99", VERDICT_INCONCLUSIVE, 0, "0 samples are too few");
	assert_only(&made, "wake-cv", VERDICT_INCONCLUSIVE, 0, "0 samples are too few");
	put_samples(&made, 0, SAMPLES_RESUME, CHECK_SAMPLES_MIN - 1, 1000, 1);
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "wake-p99", VERDICT_INCONCLUSIVE, 0, "99 samples are too few");
	put_samples(&made, 1, SAMPLES_RESUME, 1, 1000, 1);
	assert_int_equal(judge(&made), VERDICT_FAIL);
	unmake(&made);
}

CASE(rates_are_judged_by_the_slowest)
{
	struct made made;

	make(&made, 3);
	made.spec.checks.min_iteration_rate = 100;
	made.spec.checks.min_work_rate = 204800;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "min-iteration-rate", VERDICT_PASS, 0, "worst 100, limit 100");
	assert_only(&made, "min-work-rate", VERDICT_PASS, 0, "worst 2.048e+05, limit 2.048e+05");
	report_of(&made, 1)->iterations = 999;
	report_of(&made, 2)->cpu_time_ns = 6 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "min-iteration-rate", VERDICT_FAIL, 101, "99.9, limit 100");
	assert_only(&made, "min-work-rate", VERDICT_FAIL, 102, "1.707e+05, limit 2.048e+05");
	/* of no time there is no rate, while the others are judged */
	report_of(&made, 0)->wall_time_ns = 0;
	report_of(&made, 0)->cpu_time_ns = 0;
	report_of(&made, 1)->iterations = 2000;
	report_of(&made, 2)->cpu_time_ns = 5 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_finding(&made, "min-iteration-rate", 0, VERDICT_INCONCLUSIVE, 0,
		       "1 worker did too little to judge");
	assert_finding(&made, "min-iteration-rate", 1, VERDICT_PASS, 0, "worst 100, limit 100");
	assert_finding(&made, "min-work-rate", 0, VERDICT_INCONCLUSIVE, 0,
		       "1 worker did too little to judge");
	unmake(&made);
}

CASE(migrations_are_judged_per_iteration)
{
	struct made made;

	make(&made, 2);
	made.spec.checks.max_migration_ratio = 0.01;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "max-migration-ratio", VERDICT_PASS, 0, "worst 0.01, limit 0.01");
	report_of(&made, 0)->migration_count = 11;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "max-migration-ratio", VERDICT_FAIL, 100, "0.011, limit 0.01");
	report_of(&made, 0)->iterations = report_of(&made, 1)->iterations = 0;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "max-migration-ratio", VERDICT_INCONCLUSIVE, 0,
		    "2 workers did too little to judge");
	unmake(&made);
}

CASE(the_variation_of_throughput_is_judged)
{
	struct made made;

	make(&made, 2);
	made.spec.checks.throughput_cv = 0.2;
	/* 1 and 1.5 of something: the mean 1.25, deviation 0.25 */
	report_of(&made, 1)->work_units = 1536000;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "throughput-cv", VERDICT_PASS, 0, "0.2, limit 0.2");
	report_of(&made, 1)->work_units = 2048000;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "throughput-cv", VERDICT_FAIL, 0, "0.3333, limit 0.2");
	report_of(&made, 1)->cpu_time_ns = 0;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "throughput-cv", VERDICT_INCONCLUSIVE, 0,
		    "the workers did too little to judge");
	report_of(&made, 1)->cpu_time_ns = 1;
	report_of(&made, 0)->work_units = report_of(&made, 1)->work_units = 0;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	unmake(&made);
	make(&made, 1);
	made.spec.checks.throughput_cv = 0.2;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "throughput-cv", VERDICT_SKIP, 0, "a single worker");
	unmake(&made);
}

CASE(pages_are_local_where_the_cpus_are)
{
	struct cpus pins[2] = {0};
	struct made made;

	cpus_add(&pins[0], 0);
	cpus_add(&pins[1], 4);
	make(&made, 2);
	made.spec.checks.numa_locality = 0.8;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_only(&made, "numa-locality", VERDICT_INCONCLUSIVE, 0,
		    "no pages are known: the kernel has no numa_maps");
	for (unsigned int i = 0; i < 2; i++) {
		report_of(&made, i)->numa_measured = 1;
		report_of(&made, i)->numa_pages[0] = 80;
		report_of(&made, i)->numa_pages[1] = 10;
		report_of(&made, i)->numa_pages[2] = 10;
	}
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "numa-locality", VERDICT_PASS, 0, "80.0%, limit 80.0%");
	report_of(&made, 0)->numa_pages[2]++;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "numa-locality", VERDICT_FAIL, 0, "79.6%, limit 80.0%");
	/* what its memory policy names is local to it, CPUs or not */
	made.work.memory.nodes = 1 << 0 | 1 << 2;
	assert_int_equal(judge(&made), VERDICT_PASS);
	assert_only(&made, "numa-locality", VERDICT_PASS, 0, "90.0%, limit 80.0%");
	made.work.memory.nodes = 0;
	/* of one that has a CPU of its own, those on another node are not */
	assert_int_equal(cpus_parse("0-7", &made.worker_groups[0].allowed, NULL), 0);
	made.worker_groups[0].group.cpus = pins;
	report_of(&made, 1)->cpus_used = pins[1];
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_only(&made, "numa-locality", VERDICT_FAIL, 0, "44.8%, limit 80.0%");
	/* until an op has let it run there, too */
	cpus_add(&report_of(&made, 1)->cpus_used, 0);
	assert_int_equal(judge(&made), VERDICT_PASS);
	made.worker_groups[0].group.cpus = NULL;
	/* what was not measured is not counted */
	report_of(&made, 0)->numa_measured = report_of(&made, 1)->numa_measured = 0;
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	unmake(&made);
}

CASE(the_worst_verdict_wins)
{
	struct made made;

	assert_true(VERDICT_FAIL > VERDICT_INCONCLUSIVE);
	assert_true(VERDICT_INCONCLUSIVE > VERDICT_PASS);
	assert_true(VERDICT_PASS > VERDICT_SKIP);
	make(&made, 1);
	add_group(&made, 2);
	made.spec.checks.max_spread = 0.5;	/* skip and pass */
	made.spec.checks.max_gap_ns = NS_PER_S; /* pass */
	made.run.end = RUN_INTERRUPTED;		/* inconclusive */
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_ptr_equal(found(&made, "max-spread", 0)->worker_group, &made.worker_groups[0]);
	assert_int_equal(found(&made, "max-spread", 0)->verdict, VERDICT_SKIP);
	assert_ptr_equal(found(&made, "max-spread", 1)->worker_group, &made.worker_groups[1]);
	assert_int_equal(found(&made, "max-spread", 1)->verdict, VERDICT_PASS);
	/* the first fails, what comes after passes */
	report_of(&made, 0)->max_gap_ns = 2 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_int_equal(found(&made, "max-gap", 1)->verdict, VERDICT_PASS);
	unmake(&made);
}

CASE(values_are_written_in_their_unit)
{
	static const struct {
		enum check_kind kind;
		double value;
		const char *text;
	} known[] = {
		{CHECK_DURATION, 2e9, "2.00s"}, {CHECK_SHARE, 0.155, "15.5%"},
		{CHECK_NUMBER, 0.2, "0.2"},	{CHECK_NUMBER, 123456, "1.235e+05"},
		{CHECK_DURATION, NAN, "-"},	{CHECK_SHARE, NAN, "-"},
		{CHECK_NUMBER, NAN, "-"},
	};
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		check_format(text, sizeof(text), known[i].kind, known[i].value);
		assert_string_equal(text, known[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(without_checks_reports_are_enough),
		cmocka_unit_test(missing_reports_say_what_became_of_the_worker),
		cmocka_unit_test(work_that_went_wrong_fails),
		cmocka_unit_test(the_end_of_the_run_counts),
		cmocka_unit_test(starved_workers_are_found),
		cmocka_unit_test(gaps_are_judged),
		cmocka_unit_test(others_on_the_few_cpus_of_a_group_count),
		cmocka_unit_test(what_others_may_have_done_is_inconclusive),
		cmocka_unit_test(what_a_limit_around_it_held_up_is_inconclusive),
		cmocka_unit_test(a_group_that_did_nothing_fails),
		cmocka_unit_test(a_group_that_did_nothing_in_no_time_is_inconclusive),
		cmocka_unit_test(refused_settings_fail_where_that_is_asked_for),
		cmocka_unit_test(slow_wakeups_may_be_by_others),
		cmocka_unit_test(the_spread_of_off_cpu_shares_is_judged),
		cmocka_unit_test(isolation_is_judged_by_cpus_used),
		cmocka_unit_test(waits_are_judged_pooled),
		cmocka_unit_test(few_waits_are_inconclusive),
		cmocka_unit_test(rates_are_judged_by_the_slowest),
		cmocka_unit_test(migrations_are_judged_per_iteration),
		cmocka_unit_test(the_variation_of_throughput_is_judged),
		cmocka_unit_test(pages_are_local_where_the_cpus_are),
		cmocka_unit_test(the_worst_verdict_wins),
		cmocka_unit_test(values_are_written_in_their_unit),
	};

	return RUN(cases);
}
