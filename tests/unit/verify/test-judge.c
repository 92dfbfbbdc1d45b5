// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <math.h>

#include "model/blame.h"
#include "verify/judge.h"

#define WALL (1000 * 1000000ULL)

/* A thread that used a CPU for a tenth of a second, waited a tenth for one, and slept else. */
static struct truth sleeper(void)
{
	struct truth truth = {.pattern = "nap", .thread = "nap", .tid = 7, .state = STATE_SLEEP};

	truth.wall_ns = WALL;
	truth.cpu_ns = WALL / 10;
	truth.states_ns[STATE_RUNNABLE] = WALL / 10;
	truth.states_ns[STATE_SLEEP] = WALL / 10 * 8;
	return truth;
}

/* As dwell sees it, all right. */
static struct row row_of(const struct truth *truth)
{
	struct row row = {.tid = truth->tid, .observed_ns = truth->wall_ns};

	for (int s = 0; s < STATES; s++)
		row.states_ns[s] = truth->states_ns[s];
	row.states_ns[STATE_USER] = truth->cpu_ns / 2;
	row.states_ns[STATE_KERNEL] = truth->cpu_ns - truth->cpu_ns / 2;
	return row;
}

static struct session_info everything = {.wire.states = ~0U};

static struct pattern_result judged(const struct truth *truth, const struct row *row,
				    const struct interval *interval)
{
	struct pattern_result result = {.name = "nap", .state = STATES, .worst = STATES};
	struct thread_judgement judgement;

	judge_add(&result, truth, row, interval, 1, &judgement);
	return result;
}

static void test_right_metrics_pass(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result = judged(&truth, &row, &interval);

	(void)state;
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_int_equal(result.threads, 1);
	assert_true(result.error_percent == 0);
	assert_int_equal(result.truth_ns, WALL / 10 * 8);
	assert_int_equal(result.measured_ns, WALL / 10 * 8);
}

static void test_time_in_another_state_fails(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	row.states_ns[STATE_SLEEP] -= WALL / 50;
	row.states_ns[STATE_DISK] += WALL / 50;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_true(result.wrong_state);
	assert_true(fabs(result.error_percent - 2) < 0.001);
	assert_string_equal(result.why, "nap: disk is off by +2.00 % of its time");
}

/* In percent of the wall time that pass: a half, with a limit of one. */
static void test_small_errors_pass_and_count(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	row.states_ns[STATE_USER] += WALL / 200;
	row.states_ns[STATE_RUNNABLE] -= WALL / 200;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_false(result.wrong_state);
	assert_true(fabs(result.error_percent - 0.5) < 0.001);
}

static void test_time_before_the_first_reading_is_open(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	/* it may have been anything there, as long as it is short */
	row.observed_ns += WALL / 200;
	row.states_ns[STATE_RUNNABLE] += WALL / 200;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_true(result.error_percent == 0);
	assert_true(fabs(result.open_percent - 0.5) < 0.001);
	row.observed_ns += WALL / 10;
	row.states_ns[STATE_RUNNABLE] += WALL / 10;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_INCONCLUSIVE);
	row = row_of(&truth);
	row.observed_ns += WALL / 80;
	row.states_ns[STATE_SLEEP] += WALL / 80;
	result = judged(&truth, &row, &interval);
	assert_int_not_equal(result.verdict, VERDICT_PASS);
}

static void test_what_is_not_recognized_is_no_error(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	row.states_ns[STATE_UNKNOWN] = row.states_ns[STATE_SLEEP];
	row.states_ns[STATE_SLEEP] = 0;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_false(result.wrong_state);
	assert_true(fabs(result.unknown_percent - 80) < 0.001);
}

static void test_stolen_time_is_compared(void **state)
{
	struct truth truth = sleeper();
	struct session_info with_machine = {.wire = {.states = ~0U, .flags = WIRE_SESSION_MACHINE}};
	struct interval interval = {.session = &with_machine};
	struct row row;

	(void)state;
	truth.states_ns[STATE_SLEEP] -= WALL / 10;
	truth.states_ns[STATE_STOLEN] = WALL / 10;
	row = row_of(&truth);
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_PASS);
	/* as CPU time */
	row.states_ns[STATE_USER] += row.states_ns[STATE_STOLEN];
	row.states_ns[STATE_STOLEN] = 0;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_FAIL);
	/* a wait cannot hide in more than the machine has lost */
	row = row_of(&truth);
	row.states_ns[STATE_STOLEN] += row.states_ns[STATE_SLEEP];
	row.states_ns[STATE_SLEEP] = 0;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_FAIL);
}

static void test_unseen_threads_fail_unless_reported(void **state)
{
	struct truth truth = sleeper();
	struct interval interval = {.session = &everything};

	(void)state;
	assert_int_equal(judged(&truth, NULL, &interval).verdict, VERDICT_FAIL);
	interval.losses.exits = 1;
	assert_int_equal(judged(&truth, NULL, &interval).verdict, VERDICT_INCONCLUSIVE);
}

static void test_losses_excuse_what_is_wrong_now_and_then(void **state)
{
	struct truth truth = sleeper();
	struct row right = row_of(&truth), wrong = right;
	struct interval interval = {.session = &everything, .losses.transitions = 1};
	struct pattern_result result = {.state = STATES, .worst = STATES};
	struct thread_judgement judgement;

	(void)state;
	wrong.states_ns[STATE_IDLE] = wrong.states_ns[STATE_SLEEP];
	wrong.states_ns[STATE_SLEEP] = 0;
	for (result.round = 1; result.round <= 3; result.round++)
		assert_false(judge_add(&result, &truth, &wrong, &interval, 1, &judgement));
	judge_end(&result, 3, false);
	assert_int_equal(result.verdict, VERDICT_FAIL); /* each time */
	result = (struct pattern_result){.round = 1, .state = STATES, .worst = STATES};
	assert_false(judge_add(&result, &truth, &wrong, &interval, 1, &judgement));
	assert_int_equal(result.verdict, VERDICT_INCONCLUSIVE);
	result.round = 2;
	assert_true(judge_add(&result, &truth, &right, &interval, 1, &judgement));
	judge_end(&result, 2, false);
	assert_int_equal(result.verdict, VERDICT_PASS);
}

static void test_what_was_wrong_once_may_be_chance(void **state)
{
	struct truth truth = sleeper();
	struct row right = row_of(&truth), wrong = right;
	struct interval interval = {.session = &everything};
	struct pattern_result result = {.round = 1, .state = STATES, .worst = STATES};
	struct thread_judgement judgement;

	(void)state;
	wrong.states_ns[STATE_IDLE] = wrong.states_ns[STATE_SLEEP];
	wrong.states_ns[STATE_SLEEP] = 0;
	assert_true(judge_add(&result, &truth, &wrong, &interval, 1, &judgement));
	assert_int_equal(result.verdict, VERDICT_FAIL);
	for (result.round = 2; result.round <= 3; result.round++)
		assert_true(judge_add(&result, &truth, &right, &interval, 1, &judgement));
	judge_end(&result, 3, false);
	assert_int_equal(result.verdict, VERDICT_INCONCLUSIVE);
	assert_true(result.error_percent > 50); /* and stays in the figures */
	result.verdict = VERDICT_FAIL;
	result.wrong_rounds.count = 2;
	judge_end(&result, 3, false);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	/* which a host may have done that does not say what it takes; but not each time */
	judge_end(&result, 3, true);
	assert_int_equal(result.verdict, VERDICT_INCONCLUSIVE);
	result.verdict = VERDICT_FAIL;
	result.wrong_rounds.count = 3;
	judge_end(&result, 3, true);
	assert_int_equal(result.verdict, VERDICT_FAIL);
}

static void test_the_error_that_is_shown_is_the_one_that_is_described(void **state)
{
	struct truth truth = sleeper();
	struct row small = row_of(&truth), large = small;
	struct interval interval = {.session = &everything};
	struct pattern_result result = {.round = 1, .state = STATES, .worst = STATES};
	struct thread_judgement judgement;

	(void)state;
	small.states_ns[STATE_SLEEP] -= WALL / 50;
	small.states_ns[STATE_DISK] += WALL / 50;
	large.states_ns[STATE_SLEEP] -= WALL / 5;
	large.states_ns[STATE_IDLE] += WALL / 5;
	assert_true(judge_add(&result, &truth, &small, &interval, 1, &judgement));
	result.round = 2;
	assert_true(judge_add(&result, &truth, &large, &interval, 1, &judgement));
	assert_true(fabs(result.error_percent - 20) < 0.001);
	assert_string_equal(result.why, "nap: idle is off by +20.00 % of its time");
	result.round = 3;
	assert_true(judge_add(&result, &truth, &small, &interval, 1, &judgement));
	assert_string_equal(result.why, "nap: idle is off by +20.00 % of its time");

	/* also where it was lost in each round, and none of them counts for itself */
	result = (struct pattern_result){.state = STATES, .worst = STATES};
	interval.losses.transitions = 1;
	for (result.round = 1; result.round <= 3; result.round++)
		assert_false(judge_add(&result, &truth, result.round == 2 ? &large : &small,
				       &interval, 1, &judgement));
	assert_int_equal(result.verdict, VERDICT_INCONCLUSIVE);
	judge_end(&result, 3, false);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_true(pattern_has_error(&result) && fabs(result.error_percent - 20) < 0.001);
	assert_non_null(strstr(result.why, "idle is off by +20.00 %"));
}

static void test_blame_that_was_wrong_once_is_chance_if_it_was_right_in_another(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct blame timer = {.victim = {.tid = 7, .pid = 5},
			      .state = STATE_SLEEP,
			      .kind = WIRE_CULPRIT_TIMER,
			      .count = 1,
			      .total_ns = truth.states_ns[STATE_SLEEP]};
	struct interval interval = {.session = &everything, .blames = &timer, .blame_count = 1};
	struct thread_judgement judgement;

	(void)state;
	truth.blamed = STATE_SLEEP;
	for (unsigned int rounds_right = 0; rounds_right <= 2; rounds_right++) {
		struct pattern_result result = {.state = STATES, .worst = STATES};

		for (result.round = 1; result.round <= 3; result.round++) {
			truth.culprit_kind =
				result.round == 1 ? WIRE_CULPRIT_DEVICE : WIRE_CULPRIT_TIMER;
			interval.blame_count = result.round <= rounds_right + 1;
			assert_true(judge_add(&result, &truth, &row, &interval, 1, &judgement));
		}
		assert_int_equal(result.blame_rounds.count, rounds_right + 1);
		assert_int_equal(result.verdict, VERDICT_FAIL);
		judge_end(&result, 3, false);
		assert_int_equal(result.verdict,
				 rounds_right ? VERDICT_INCONCLUSIVE : VERDICT_FAIL);
		assert_int_equal(result.blame_wrong, !rounds_right);
	}
}

static void test_reasons(void **state)
{
	struct wire_reason reasons[] = {
		{.tid = 7,
		 .total_ns = 5,
		 .site = {.syscall = WIRE_SYSCALL_NONE,
			  .state = WIRE_SLEEP,
			  .detail = WIRE_DETAIL_TIMER}},
		{.tid = 8,
		 .total_ns = 9,
		 .site = {.syscall = WIRE_SYSCALL_NONE,
			  .state = WIRE_SLEEP,
			  .detail = WIRE_DETAIL_GRACE_PERIOD}},
	};
	struct interval interval = {
		.session = &everything, .reasons = reasons, .reason_count = ARRAY_SIZE(reasons)};
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct pattern_result result;

	(void)state;
	strcpy(truth.reason, "*:timer");
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_true(result.reason_judged && !result.reason_wrong);
	strcpy(truth.reason, "clock_nanosleep");
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_true(result.reason_wrong);
	/* none is known */
	interval.reason_count = 0;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_false(result.reason_judged);
}

/* A hundred waits of 1 ms, and as dwell has them. */
static void let_wait(struct truth *truth, struct row *row)
{
	truth->waits = (struct truth_waits){
		.count = 100, .known = 100, .max_ns = 1000000, .most_max_ns = 1000000};
	truth->waits.buckets[19] = truth->waits.most_buckets[19] = 100;
	row->latency[19] = row->latency_count = 100;
	row->latency_max_ns = 1003000;
}

static void test_waits_for_a_cpu(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	let_wait(&truth, &row);
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_PASS);
	assert_true(result.latency_judged && result.latency_error_percent == 0);
	/* the longest one is too long, by more than both clocks differ */
	row.latency_max_ns = 1100000;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_true(result.latency_wrong && fabs(result.latency_error_percent - 8) < 0.001);
	assert_string_equal(result.why, "nap: the longest wait for a CPU was 1.100 ms, not 1.000");
	/* but it may be one that it did not measure */
	truth.waits.count++;
	truth.waits.rest_max_ns = 1100000;
	row.latency[20]++;
	row.latency_count++;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_PASS);
	truth.waits.count += 10;
	assert_false(judged(&truth, &row, &interval).latency_judged);
}

static void test_number_and_percentiles_of_waits(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	let_wait(&truth, &row);
	row.latency[19] = row.latency_count = 97;
	result = judged(&truth, &row, &interval);
	assert_string_equal(result.why, "nap: 97 waits for a CPU, not 100");
	/* what was lost explains it */
	interval.losses.transitions = 3;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_PASS);
	interval.losses.transitions = 2;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_INCONCLUSIVE);
	assert_false(result.latency_judged);
	interval.losses.transitions = 0;
	row.latency[19] = 40;
	row.latency[15] = 60;
	row.latency_count = 100;
	result = judged(&truth, &row, &interval);
	assert_string_equal(result.why,
			    "nap: p50 of its waits for a CPU is 0.060 ms, not 0.773 to 0.794");
	/* the kernel takes what is woken and runs at once for no wait */
	truth.waits.buckets[19] = 40;
	truth.waits.buckets[0] = 60;
	row.latency[15] = 0;
	row.latency[12] = 60;
	truth.waits.most_buckets[19] = 40;
	truth.waits.most_buckets[0] = 60;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_PASS);
	/* on a slow machine that takes long, and the thread knows how long at most */
	row.latency[12] = 0;
	row.latency[15] = 60;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_FAIL);
	truth.waits.most_buckets[0] = 0;
	truth.waits.most_buckets[15] = 60;
	assert_int_equal(judged(&truth, &row, &interval).verdict, VERDICT_PASS);
}

static void test_what_hardly_took_place_is_skipped(void **state)
{
	struct truth truth = sleeper();
	struct row row = row_of(&truth);
	struct interval interval = {.session = &everything};
	struct pattern_result result;

	(void)state;
	truth.state = STATE_DISK;
	result = judged(&truth, &row, &interval);
	assert_int_equal(result.verdict, VERDICT_SKIP);
	assert_string_equal(result.why, "nap: only 0.0 % of its time were disk here");
}

/* What a pattern that judges itself found wrong is not made right by other rounds. */
static void test_rounds_of_a_pattern_keep_the_worst(void **state)
{
	struct pattern_result result = {.name = "turns", .worst = STATES, .round = 1};

	(void)state;
	judge_round(&result, VERDICT_FAIL, true, "1 of 9");
	result.round = 2;
	judge_round(&result, VERDICT_FAIL, true, "2 of 9");
	result.round = 3;
	judge_round(&result, VERDICT_INCONCLUSIVE, true, "lost");
	result.round = 4;
	judge_round(&result, VERDICT_SKIP, false, "no end");
	result.round = 5;
	judge_round(&result, VERDICT_PASS, false, "");
	judge_end(&result, 5, false);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_string_equal(result.why, "1 of 9");
	assert_int_equal(result.wrong_rounds.count, 3);
	/* wrong in each, with losses */
	result = (struct pattern_result){.name = "turns", .worst = STATES};
	for (result.round = 1; result.round <= 3; result.round++)
		judge_round(&result, VERDICT_INCONCLUSIVE, true, "0 of 9");
	judge_end(&result, 3, false);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_string_equal(result.why, "0 of 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_metrics_pass),
		cmocka_unit_test(test_the_error_that_is_shown_is_the_one_that_is_described),
		cmocka_unit_test(test_time_in_another_state_fails),
		cmocka_unit_test(test_small_errors_pass_and_count),
		cmocka_unit_test(test_time_before_the_first_reading_is_open),
		cmocka_unit_test(test_what_is_not_recognized_is_no_error),
		cmocka_unit_test(test_stolen_time_is_compared),
		cmocka_unit_test(test_unseen_threads_fail_unless_reported),
		cmocka_unit_test(test_losses_excuse_what_is_wrong_now_and_then),
		cmocka_unit_test(test_rounds_of_a_pattern_keep_the_worst),
		cmocka_unit_test(test_what_was_wrong_once_may_be_chance),
		cmocka_unit_test(
			test_blame_that_was_wrong_once_is_chance_if_it_was_right_in_another),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_waits_for_a_cpu),
		cmocka_unit_test(test_number_and_percentiles_of_waits),
		cmocka_unit_test(test_what_hardly_took_place_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
