// SPDX-License-Identifier: GPL-2.0-or-later
/* Deadlines that scale with how many threads want a CPU. */
#include "test.h"

#include "base/clock.h"
#include "base/patience.h"

#define SECOND 1000000000ULL

CASE(one_that_waits_is_given_its_time)
{
	double factor = 1;

	assert_false(patience_is_over(clock_monotonic_ns(), 3600 * SECOND, &factor));
	/* the machine is looked at when the time is over */
	assert_true(factor == 1);
}

/* However busy the machine is: no more than PATIENCE_MOST times as long. */
CASE(all_patience_ends)
{
	double factor = 1;

	assert_true(
		patience_is_over(clock_monotonic_ns() - PATIENCE_MOST * SECOND, SECOND, &factor));
	assert_true(factor >= 1 && factor <= PATIENCE_MOST);
}

/* A look that finds the machine calm does not end what was delayed before. */
CASE(the_largest_factor_counts)
{
	uint64_t now_ns = clock_monotonic_ns();
	double factor = PATIENCE_MOST;

	assert_false(patience_is_over(now_ns - (PATIENCE_MOST - 10) * SECOND, SECOND, &factor));
	assert_true(factor == PATIENCE_MOST);
}

CASE(there_is_a_factor_for_every_number_of_threads)
{
	assert_true(patience_scale(0, 4) == 1);
	assert_true(patience_scale(4, 4) == 1);
	assert_true(patience_scale(6, 4) == 1.5);
	assert_true(patience_scale(12, 4) == 3);
	assert_true(patience_scale(4 * PATIENCE_MOST, 4) == PATIENCE_MOST);
	assert_true(patience_scale(4000000000, 4) == PATIENCE_MOST);
	/* none is known */
	assert_true(patience_scale(12, 0) == 1);
	assert_true(patience_scale(12, -1) == 1);
}

CASE(the_machine_has_a_factor)
{
	double factor = patience_factor();

	assert_true(factor >= 1 && factor <= PATIENCE_MOST);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(one_that_waits_is_given_its_time),
		cmocka_unit_test(all_patience_ends),
		cmocka_unit_test(the_largest_factor_counts),
		cmocka_unit_test(there_is_a_factor_for_every_number_of_threads),
		cmocka_unit_test(the_machine_has_a_factor),
	};

	return RUN(cases);
}
