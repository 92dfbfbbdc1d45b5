// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "base/array.h"
#include "base/duration.h"
#include "verify/turns.h"

#define MS(n) ((n)*NS_PER_MS)

static const struct timed_turn turns[] = {
	{MS(10), MS(11), TURN_GOOD},
	{MS(20), MS(45), TURN_SLEEP},
	{MS(50), MS(51), TURN_GOOD},
	{MS(60), MS(85), TURN_LOCK},
};

static struct turns_judgement judged(const struct reported_stall *stalls, size_t count)
{
	struct turns_judgement judgement;

	turns_judge(&judgement, turns, ARRAY_SIZE(turns), stalls, count, MS(5), MS(100));
	return judgement;
}

static void test_every_turn_and_its_cause(void **state)
{
	struct reported_stall stalls[] = {{MS(20), MS(25), "sleep"}, {MS(60), MS(26), "lock"}};
	struct turns_judgement judgement = judged(stalls, 2);

	(void)state;
	assert_int_equal(judgement.turns, 2);
	assert_int_equal(judgement.found, 2);
	assert_int_equal(judgement.right, 2);
	assert_int_equal(judgement.wrong, 0);
	assert_true(judgement.error_percent > 3.9 && judgement.error_percent < 4.1);
	assert_string_equal(judgement.why, "");
}

static void test_a_turn_that_is_missing(void **state)
{
	struct reported_stall stalls[] = {{MS(20), MS(25), "sleep"}};
	struct turns_judgement judgement = judged(stalls, 1);

	(void)state;
	assert_int_equal(judgement.found, 1);
	assert_string_equal(judgement.why, "a turn of 25.0 ms (lock) was not reported");
}

static void test_a_wrong_cause(void **state)
{
	struct reported_stall stalls[] = {{MS(20), MS(25), "net"}, {MS(60), MS(25), "lock"}};
	struct turns_judgement judgement = judged(stalls, 2);

	(void)state;
	assert_int_equal(judgement.found, 2);
	assert_int_equal(judgement.right, 1);
	assert_string_equal(judgement.why, "the cause of a turn of 25.0 ms is net, not sleep");
}

static void test_what_the_machine_did_is_not_wrong(void **state)
{
	struct reported_stall stalls[] = {
		{MS(9), MS(10), "runnable"}, {MS(20), MS(60), "stolen"}, {MS(60), MS(25), "lock"}};
	struct turns_judgement judgement = judged(stalls, 3);

	(void)state;
	assert_int_equal(judgement.right, 2);
	assert_int_equal(judgement.wrong, 0);
	assert_true(judgement.error_percent == 0);
}

static void test_a_stall_of_a_good_turn(void **state)
{
	struct reported_stall stalls[] = {
		{MS(20), MS(25), "sleep"}, {MS(50), MS(1), "sleep"}, {MS(60), MS(25), "lock"}};
	struct turns_judgement judgement = judged(stalls, 3);

	(void)state;
	assert_int_equal(judgement.wrong, 1);
	assert_string_equal(judgement.why,
			    "a stall of 1.0 ms (sleep) in a turn that did not block");
}

static void test_turns_that_dwell_did_not_watch(void **state)
{
	struct turns_judgement judgement;

	(void)state;
	turns_judge(&judgement, turns, ARRAY_SIZE(turns), NULL, 0, MS(30), MS(80));
	assert_int_equal(judgement.turns, 0);
	assert_string_equal(judgement.why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_turn_and_its_cause),
		cmocka_unit_test(test_a_turn_that_is_missing),
		cmocka_unit_test(test_a_wrong_cause),
		cmocka_unit_test(test_what_the_machine_did_is_not_wrong),
		cmocka_unit_test(test_a_stall_of_a_good_turn),
		cmocka_unit_test(test_turns_that_dwell_did_not_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
