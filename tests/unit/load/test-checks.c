// SPDX-License-Identifier: GPL-2.0-or-later
/* From reports, made by hand, to figures and a verdict; and which bytes are a report at all. */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>

#include "base/duration.h"
#include "load/checks.h"

/* ----- reports ----- */

#define KEPT 3

struct whole {
	struct worker_report report;
	struct report_migration migrations[KEPT];
};

static struct whole *whole_report(void)
{
	struct whole *whole = calloc(1, sizeof(*whole));

	assert_non_null(whole);
	whole->report = (struct worker_report){.magic = REPORT_MAGIC,
					       .bytes = sizeof(*whole),
					       .migration_count = KEPT,
					       .migrations_kept = KEPT};
	return whole;
}

CASE(a_report_is_whole_at_its_last_byte)
{
	struct whole *whole = whole_report();

	for (size_t length = 0; length < sizeof(*whole); length++) {
		/* a copy, so that a sanitizer sees a look behind its end */
		char *part = malloc(length + 1);

		memcpy(part, whole, length);
		assert_int_equal(report_check(part, length), 0);
		free(part);
	}
	assert_int_equal(report_check(whole, sizeof(*whole)), 1);
	assert_int_equal(report_check(whole, sizeof(*whole) + 1), -EBADMSG);
	free(whole);
}

CASE(a_report_has_a_magic_number)
{
	struct whole *whole = whole_report();

	for (unsigned int bit = 0; bit < 64; bit++) {
		whole->report.magic = REPORT_MAGIC ^ 1ULL << bit;
		assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
		/* it is known as soon as there is anything to know */
		assert_int_equal(report_check(whole, offsetof(struct worker_report, tid)),
				 -EBADMSG);
	}
	free(whole);
}

CASE(a_report_has_the_size_it_tells)
{
	static const uint32_t bad[] = {0,
				       1,
				       sizeof(struct worker_report) - 1,
				       sizeof(struct whole) - 1,
				       sizeof(struct whole) - sizeof(struct report_migration),
				       REPORT_BYTES_MAX + 1,
				       UINT32_MAX};
	struct whole *whole = whole_report();

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		whole->report.bytes = bad[i];
		assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
	}
	/* more than there is yet */
	whole->report.bytes = sizeof(*whole) + 1;
	assert_int_equal(report_check(whole, sizeof(*whole)), 0);
	whole->report.bytes = REPORT_BYTES_MAX;
	assert_int_equal(report_check(whole, sizeof(*whole)), 0);
	free(whole);
}

CASE(a_report_keeps_as_many_migrations_as_it_tells)
{
	struct worker_report *report = calloc(1, REPORT_BYTES_MAX + 64);
	struct whole *whole = whole_report();

	*report = whole->report;
	report->bytes = REPORT_BYTES_MAX;
	report->migrations_kept = REPORT_MIGRATIONS;
	report->migration_count = REPORT_MIGRATIONS;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), 1);
	report->migration_count = UINT64_MAX;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), 1);
	/* more kept than there were */
	report->migration_count = REPORT_MIGRATIONS - 1;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	report->migration_count = UINT64_MAX;
	report->migrations_kept = REPORT_MIGRATIONS + 1;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	/* so many that their size is a small one again */
	report->migrations_kept = (1U << 28) + REPORT_MIGRATIONS;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	report->migrations_kept = REPORT_MIGRATIONS - 1;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	whole->report.migrations_kept = KEPT - 1;
	assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
	free(whole);
	free(report);
}

CASE(the_texts_of_a_report_end)
{
	struct whole *whole = whole_report();
	char *const texts[] = {whole->report.affinity_error, whole->report.policy_error,
			       whole->report.memory_policy_error, whole->report.nice_error,
			       whole->report.work_error};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		memset(texts[i], 'x', REPORT_TEXT);
		assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
		texts[i][REPORT_TEXT - 1] = '\0';
		assert_int_equal(report_check(whole, sizeof(*whole)), 1);
	}
	free(whole);
}

/* ----- runs ----- */

#define CREWS 2

/* What was run, and what came of it. */
struct made {
	struct spec spec;
	struct spec_work work;
	struct topology topology;
	struct topology_part nodes[3];
	struct run run;
	struct run_crew crews[CREWS];
	struct run_crew *pointers[CREWS];
	struct summary summaries[CREWS];
	struct findings findings;
};

static void add_crew(struct made *made, unsigned int workers)
{
	struct run_crew *crew = &made->crews[made->run.crew_count];
	struct error error = {""};

	made->pointers[made->run.crew_count++] = crew;
	crew->group = (struct plan_group){.work = &made->work, .count = workers, .team_size = 1};
	crew->crew = (struct crew){.group = &crew->group, .forked = workers, .start_fd = -1};
	assert_int_equal(arena_init(&crew->crew.arena, workers, 1, 0, &error), 0);
	crew->crew.workers = calloc(workers, sizeof(*crew->crew.workers));
	assert_int_equal(cpus_parse("0-3", &crew->allowed, NULL), 0);
	for (unsigned int i = 0; i < workers; i++) {
		struct crew_worker *worker = &crew->crew.workers[i];
		struct worker_report *report = calloc(1, sizeof(*report));

		arena_slot(&crew->crew.arena, i)->tid = 100 + i;
		*worker = (struct crew_worker){.received = (char *)report, .complete = true};
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

static void make(struct made *made, unsigned int workers)
{
	*made = (struct made){.run = {.end = RUN_COMPLETE}};
	spec_init(&made->spec);
	assert_int_equal(work_type_find("spin-wait", &made->work.type, NULL), 0);
	made->run.spec = &made->spec;
	made->run.topology = &made->topology;
	made->run.crews = made->pointers;
	made->topology.nodes = (struct topology_parts){made->nodes, 3, 3};
	/* CPUs 0 to 3 and 4 to 7, and one of memory alone */
	for (unsigned int i = 0; i < 8; i++)
		cpus_add(&made->nodes[i / 4].cpus, i);
	for (unsigned int i = 0; i < 3; i++)
		made->nodes[i].id = i;
	add_crew(made, workers);
}

static void unmake(struct made *made)
{
	for (size_t i = 0; i < made->run.crew_count; i++) {
		for (unsigned int k = 0; k < made->crews[i].crew.forked; k++)
			free(made->crews[i].crew.workers[k].received);
		free(made->crews[i].crew.workers);
		arena_release(&made->crews[i].crew.arena);
	}
	findings_release(&made->findings);
	spec_release(&made->spec);
}

static struct worker_report *report_of(struct made *made, unsigned int worker)
{
	return (struct worker_report *)(void *)made->crews[0].crew.workers[worker].received;
}

static void lose(struct made *made, unsigned int worker, enum exit_kind exit, int code)
{
	made->crews[0].crew.workers[worker].complete = false;
	made->crews[0].crew.workers[worker].exit = exit;
	made->crews[0].crew.workers[worker].exit_code = code;
}

/* Samples of a worker, each its number and `step` more. */
static void put_samples(struct made *made, unsigned int worker, enum report_samples stream,
			uint64_t count, uint64_t first, uint64_t step)
{
	uint64_t *samples = arena_samples(&made->crews[0].crew.arena, worker, stream);

	report_of(made, worker)->sample_totals[stream] = count;
	for (uint64_t i = 0; i < reservoir_kept(count); i++)
		samples[i] = first + i * step;
}

static enum verdict judge(struct made *made)
{
	findings_release(&made->findings);
	for (size_t i = 0; i < made->run.crew_count; i++)
		assert_int_equal(summary_make(made->pointers[i], &made->summaries[i]), 0);
	assert_int_equal(checks_judge(&made->run, made->summaries, &made->findings), 0);
	return made->findings.verdict;
}

/* The nth finding of a check. */
static const struct finding *found(const struct made *made, const char *key, unsigned int number)
{
	for (size_t i = 0; i < made->findings.count; i++)
		if (!strcmp(made->findings.items[i].check->key, key) && !number--)
			return &made->findings.items[i];
	return NULL;
}

static void assert_finding(const struct made *made, const char *key, unsigned int number,
			   enum verdict verdict, uint32_t tid, const char *text)
{
	const struct finding *finding = found(made, key, number);

	assert_non_null(finding);
	assert_string_equal(finding->text, text);
	assert_string_equal(verdict_names[finding->verdict], verdict_names[verdict]);
	assert_int_equal(finding->tid, tid);
	assert_ptr_equal(finding->crew, strcmp(key, "run") ? &made->crews[0] : NULL);
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
	assert_int_equal(made.findings.count, 1);
	assert_only(&made, "completed", VERDICT_PASS, 0, "2 workers reported");
	unmake(&made);
	make(&made, 1);
	judge(&made);
	assert_only(&made, "completed", VERDICT_PASS, 0, "1 worker reported");
	unmake(&made);
	/* nothing was run at all */
	make(&made, 1);
	made.run.crew_count = 0;
	assert_int_equal(judge(&made), VERDICT_SKIP);
	made.run.crew_count = 1;
	unmake(&made);
}

CASE(missing_reports_tell_what_became_of_the_worker)
{
	static const struct {
		enum exit_kind exit;
		int code;
		const char *text;
	} ends[] = {
		{EXIT_EXITED, 3, "ended without a report, with status 3"},
		{EXIT_SIGNALED, SIGKILL, "was killed by signal 9 (Killed)"},
		{EXIT_SIGNALED, SIGSEGV, "was killed by signal 11 (Segmentation fault)"},
		{EXIT_TIMED_OUT, 0, "did not report within 5 s, and was killed"},
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
	assert_true(found(&made, "max-gap", 0)->figure == 3e6);
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
	/* of two that ran for no time and one that did nothing can be told */
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
		       "1 worker did too little to tell");
	assert_finding(&made, "min-iteration-rate", 1, VERDICT_PASS, 0, "worst 100, limit 100");
	assert_finding(&made, "min-work-rate", 0, VERDICT_INCONCLUSIVE, 0,
		       "1 worker did too little to tell");
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
		    "2 workers did too little to tell");
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
		    "the workers did too little to tell");
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
	struct made made;

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
	add_crew(&made, 2);
	made.spec.checks.max_spread = 0.5;	/* skip and pass */
	made.spec.checks.max_gap_ns = NS_PER_S; /* pass */
	made.run.end = RUN_INTERRUPTED;		/* inconclusive */
	assert_int_equal(judge(&made), VERDICT_INCONCLUSIVE);
	assert_ptr_equal(found(&made, "max-spread", 0)->crew, &made.crews[0]);
	assert_int_equal(found(&made, "max-spread", 0)->verdict, VERDICT_SKIP);
	assert_ptr_equal(found(&made, "max-spread", 1)->crew, &made.crews[1]);
	assert_int_equal(found(&made, "max-spread", 1)->verdict, VERDICT_PASS);
	/* the first fails, what comes after passes */
	report_of(&made, 0)->max_gap_ns = 2 * NS_PER_S;
	assert_int_equal(judge(&made), VERDICT_FAIL);
	assert_int_equal(found(&made, "max-gap", 1)->verdict, VERDICT_PASS);
	unmake(&made);
}

/* ----- summaries ----- */

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
	made.crews[0].crew.numa_migrated = 12;
	made.crews[0].crew.numa_migrated_measured = true;
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

CASE(figures_are_written_in_their_unit)
{
	static const struct {
		enum check_kind kind;
		double figure;
		const char *text;
	} known[] = {
		{CHECK_DURATION, 2e9, "2.00s"}, {CHECK_SHARE, 0.155, "15.5%"},
		{CHECK_NUMBER, 0.2, "0.2"},	{CHECK_NUMBER, 123456, "1.235e+05"},
		{CHECK_DURATION, NAN, "-"},	{CHECK_SHARE, NAN, "-"},
		{CHECK_NUMBER, NAN, "-"},
	};
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		check_format(text, sizeof(text), known[i].kind, known[i].figure);
		assert_string_equal(text, known[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_report_is_whole_at_its_last_byte),
		cmocka_unit_test(a_report_has_a_magic_number),
		cmocka_unit_test(a_report_has_the_size_it_tells),
		cmocka_unit_test(a_report_keeps_as_many_migrations_as_it_tells),
		cmocka_unit_test(the_texts_of_a_report_end),
		cmocka_unit_test(without_checks_reports_are_enough),
		cmocka_unit_test(missing_reports_tell_what_became_of_the_worker),
		cmocka_unit_test(work_that_went_wrong_fails),
		cmocka_unit_test(the_end_of_the_run_counts),
		cmocka_unit_test(starved_workers_are_found),
		cmocka_unit_test(gaps_are_judged),
		cmocka_unit_test(the_spread_of_off_cpu_shares_is_judged),
		cmocka_unit_test(isolation_is_judged_by_cpus_used),
		cmocka_unit_test(waits_are_judged_pooled),
		cmocka_unit_test(few_waits_are_inconclusive),
		cmocka_unit_test(rates_are_judged_by_the_slowest),
		cmocka_unit_test(migrations_are_judged_per_iteration),
		cmocka_unit_test(the_variation_of_throughput_is_judged),
		cmocka_unit_test(pages_are_local_where_the_cpus_are),
		cmocka_unit_test(the_worst_verdict_wins),
		cmocka_unit_test(reports_are_summed_up),
		cmocka_unit_test(of_no_reports_nothing_is_known),
		cmocka_unit_test(samples_of_workers_are_pooled),
		cmocka_unit_test(figures_are_written_in_their_unit),
	};

	return RUN(cases);
}
