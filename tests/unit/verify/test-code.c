// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "verify/code.h"

/* 100 s in all. */
static const struct code_shares truth = {.ns = {10e9, 20e9, 10e9, 30e9, 30e9}, .all_ns = 100e9};

static struct code_judgement judged(struct code_shares seen)
{
	struct code_judgement judgement;

	code_judge(&judgement, &truth, &seen);
	return judgement;
}

static void test_shares_are_of_what_each_saw(void **state)
{
	/* twice as long */
	struct code_judgement judgement =
		judged((struct code_shares){.ns = {20e9, 40e9, 20e9, 60e9, 59e9}, .all_ns = 200e9});

	(void)state;
	assert_int_equal(judgement.shares, CODE_COUNT);
	assert_int_equal(judgement.right, CODE_COUNT);
	assert_true(judgement.error_points > 0.49 && judgement.error_points < 0.51);
	assert_string_equal(judgement.why, "");
}

static void test_a_share_beyond_its_error_is_wrong(void **state)
{
	struct code_shares seen = {.ns = {16e9, 20e9, 4e9, 30e9, 30e9},
				   .error_ns = {2e9, 0, 1e9, 0, 0},
				   .all_ns = 100e9};
	struct code_judgement judgement = judged(seen);

	(void)state;
	/* the first is within four of its errors */
	assert_int_equal(judgement.right, CODE_COUNT - 1);
	assert_string_equal(judgement.why,
			    "verify_code_recurses has 4.0 +/- 1.0 % of the time, not 10.0");
}

static void test_nothing_seen_is_wrong(void **state)
{
	struct code_judgement judgement = judged((struct code_shares){.lost = 0});

	(void)state;
	assert_int_equal(judgement.right, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_of_what_each_saw),
		cmocka_unit_test(test_a_share_beyond_its_error_is_wrong),
		cmocka_unit_test(test_nothing_seen_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
