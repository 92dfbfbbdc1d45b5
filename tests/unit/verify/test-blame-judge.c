// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <stdio.h>

#include "base/array.h"
#include "model/blame.h"
#include "verify/blame_judge.h"

#define MS(n) ((n)*1000000ULL)

static struct blame owed(enum wire_culprit_kind kind, uint32_t pid, const char *comm, uint64_t ns)
{
	struct blame blame = {.victim = {.tid = 7, .pid = 5},
			      .state = STATE_RUNNABLE,
			      .kind = kind,
			      .culprit = {.tid = 8, .pid = pid},
			      .count = 20,
			      .total_ns = ns};

	snprintf(blame.culprit.comm, sizeof(blame.culprit.comm), "%s", comm);
	return blame;
}

/* Of a thread that lived for a second and lost its CPU to thief-1 and thief-2. */
static enum verdict judged_with(uint64_t lost, struct blame *blames, size_t count,
				char why[TRUTH_TEXT_BYTES])
{
	struct truth truth = {.thread = "victim",
			      .tid = 7,
			      .wall_ns = MS(1000),
			      .blamed = STATE_RUNNABLE,
			      .culprit_kind = WIRE_CULPRIT_THREAD,
			      .culprit = "thief-@(1|2)",
			      .waits = {.count = 20}};
	struct interval interval = {.blames = blames, .blame_count = count};

	return blame_judge(&truth, &interval, lost, why);
}

static enum verdict judged(struct blame *blames, size_t count, char why[TRUTH_TEXT_BYTES])
{
	return judged_with(0, blames, count, why);
}

static void test_named_culprits_are_right(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_THREAD, 5, "thief-1", MS(200)),
				 owed(WIRE_CULPRIT_THREAD, 5, "thief-2", MS(200)),
				 owed(WIRE_CULPRIT_UNKNOWN, 0, "", MS(10)),
				 /* true of any machine */
				 owed(WIRE_CULPRIT_STEAL, 0, "", MS(100)),
				 owed(WIRE_CULPRIT_THREAD, 99, "backup", MS(100))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judged(blames, ARRAY_SIZE(blames), why), VERDICT_PASS);
	assert_string_equal(why, "");
}

static void test_an_innocent_one_is_wrong(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_THREAD, 5, "thief-1", MS(150)),
				 owed(WIRE_CULPRIT_THREAD, 5, "innocent", MS(40)),
				 owed(WIRE_CULPRIT_UNKNOWN, 0, "", MS(10))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judged(blames, ARRAY_SIZE(blames), why), VERDICT_FAIL);
	assert_string_equal(why,
			    "victim: of its time in runnable dwell blames innocent for 20.0 %");
}

static void test_losses_explain_a_few_waits_each(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_THREAD, 5, "innocent", MS(400))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judged_with(1, blames, 1, why), VERDICT_FAIL);
	assert_int_equal(judged_with(2, blames, 1, why), VERDICT_INCONCLUSIVE);
	assert_string_equal(why,
			    "victim: of its time in runnable dwell blames innocent for 100.0 %");
}

/* As without the hook that would know: no wait has a culprit, so dwell counts none either. */
static void test_waits_that_are_owed_to_no_one(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_UNKNOWN, 0, "", MS(400))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	blames[0].count = 0;
	assert_int_equal(judged(blames, 1, why), VERDICT_FAIL);
	assert_string_equal(why,
			    "victim: of its time in runnable dwell blames unknown for 100.0 %");
	/* the thread has waited twenty times */
	assert_int_equal(judged_with(1, blames, 1, why), VERDICT_FAIL);
	assert_int_equal(judged_with(2, blames, 1, why), VERDICT_INCONCLUSIVE);
}

static void test_several_threads_of_the_pattern_are_right(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_THREAD, 5, "dwell", MS(150)),
				 owed(WIRE_CULPRIT_THREAD, 5, "thief-1", MS(50))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judged(blames, ARRAY_SIZE(blames), why), VERDICT_FAIL);
	blames[0].culprit.tid = 0;
	assert_int_equal(judged(blames, ARRAY_SIZE(blames), why), VERDICT_PASS);
	assert_string_equal(why, "");
}

static void test_a_busy_machine_leaves_it_open(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_THREAD, 5, "thief-1", MS(100)),
				 owed(WIRE_CULPRIT_THREAD, 99, "backup", MS(300))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judged(blames, ARRAY_SIZE(blames), why), VERDICT_SKIP);
	assert_string_equal(why, "");
}

static void test_hardly_any_time_is_not_judged(void **state)
{
	struct blame blames[] = {owed(WIRE_CULPRIT_THREAD, 5, "innocent", MS(10))};
	char why[TRUTH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judged(blames, ARRAY_SIZE(blames), why), VERDICT_SKIP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_culprits_are_right),
		cmocka_unit_test(test_an_innocent_one_is_wrong),
		cmocka_unit_test(test_losses_explain_a_few_waits_each),
		cmocka_unit_test(test_waits_that_are_owed_to_no_one),
		cmocka_unit_test(test_several_threads_of_the_pattern_are_right),
		cmocka_unit_test(test_a_busy_machine_leaves_it_open),
		cmocka_unit_test(test_hardly_any_time_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
