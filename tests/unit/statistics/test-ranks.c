// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <math.h>

#include "base/array.h"
#include "statistics/shift.h"
#include "statistics/step_down.h"

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) <= 1e-9)
		return;
	print_error("%.15g is not %.15g\n", value, expected);
	fail();
}

/* Two-sided critical values of Wilcoxon's T: Hollander and Wolfe, table A.4, and others. */
CASE(signed_ranks_are_as_in_the_tables)
{
	static const struct {
		size_t count;
		double alpha;
		long value;
	} cases[] = {
		{5, .05, -1}, {6, .05, 0},   {7, .05, 2},   {8, .05, 3},      {9, .05, 5},
		{10, .05, 8}, {12, .05, 13}, {15, .05, 25}, {20, .05, 52},    {25, .05, 89},
		{7, .01, -1}, {8, .01, 0},   {10, .01, 3},  {20, .01, 37},    {30, .05, 137},
		{0, .05, -1}, {8, 0, -1},    {8, .0125, 0}, {100, .05, 1955},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(signed_rank_quantile(cases[i].count, cases[i].alpha / 2),
				 cases[i].value);
}

/* Where the normal distribution takes over, it says the same. */
CASE(many_ranks_are_nearly_normal)
{
	assert_int_equal(labs(signed_rank_quantile(101, .025) - 1999) <= 3, 1);
	assert_int_equal(
		labs(rank_sum_quantile(60, 60, .025) - rank_sum_quantile(61, 60, .025) + 30) <= 15,
		1);
}

/* Two-sided critical values of Mann and Whitney's U. */
CASE(rank_sums_are_as_in_the_tables)
{
	static const struct {
		size_t a, b;
		double alpha;
		long value;
	} cases[] = {
		{3, 3, .05, -1}, {4, 4, .05, 0},    {5, 5, .05, 2},	{6, 6, .05, 5},
		{8, 8, .05, 13}, {10, 10, .05, 23}, {5, 10, .05, 8},	{10, 5, .05, 8},
		{4, 4, .01, -1}, {10, 10, .01, 16}, {20, 20, .05, 127}, {20, 20, .01, 105},
		{2, 8, .05, 0},	 {2, 7, .05, -1},   {0, 5, .05, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(rank_sum_quantile(cases[i].a, cases[i].b, cases[i].alpha / 2),
				 cases[i].value);
}

/* Hollander and Wolfe's examples 3.1 (Hamilton's scale of depression) and 4.1 (permeability). */
CASE(shifts_are_as_in_the_book)
{
	static const double before[] = {1.83, .50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
	static const double after[] = {.878, .647, .598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
	static const double at_term[] = {.80, .83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, .73, 1.46};
	static const double earlier[] = {1.15, .88, .90, .74, 1.21};
	double differences[9];
	struct shift shift;

	for (size_t i = 0; i < 9; i++)
		differences[i] = after[i] - before[i];
	assert_int_equal(shift_of_pairs(differences, 9, .05, &shift), 0);
	assert_near(shift.estimate, -.46);
	assert_near(shift.low, -.786);
	assert_near(shift.high, -.010);
	assert_int_equal(shift_between(at_term, 10, earlier, 5, .05, &shift), 0);
	assert_near(shift.estimate, -.305);
	assert_near(shift.low, -.76);
	assert_near(shift.high, .15);
}

CASE(of_few_there_is_an_estimate_and_no_bound)
{
	static const double some[] = {1, 2, 3, 4, 5};
	struct shift shift;

	assert_int_equal(shift_of_pairs(some, 5, .05, &shift), 0);
	assert_near(shift.estimate, 3);
	assert_true(isinf(shift.low) && shift.low < 0 && isinf(shift.high));
	assert_int_equal(shift_between(some, 3, some, 3, .05, &shift), 0);
	assert_true(shift.estimate == 0 && isinf(shift.high));
	assert_int_equal(shift_of_pairs(some, 0, .05, &shift), 0);
	assert_true(isnan(shift.estimate) && isnan(shift.low));
}

/* One that is off by any amount moves neither estimate nor bounds far. */
CASE(one_outlier_decides_nothing)
{
	double values[] = {1, 1.1, .9, 1, 1.05, .95, 1, 1e9};
	struct shift shift;

	assert_int_equal(shift_of_pairs(values, 8, .05, &shift), 0);
	assert_true(shift.estimate > .9 && shift.estimate < 1.1 && shift.low > .9);
	assert_true(shift.high > 1e8);
	assert_int_equal(shift_of_pairs(values, 7, .05, &shift), 0);
	assert_true(shift.high < 1.1);
}

/* R. A. Fisher, The Design of Experiments, section 21: Darwin's maize, 1,726 of 32,768. */
CASE(pairs_are_exchanged_in_every_way)
{
	static const double maize[] = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
	double twice[30], p[2];

	assert_int_equal(step_down_pairs(maize, 15, 1, p), 0);
	assert_near(p[0], 1726. / 32768);
	/* what is the same metric again costs nothing */
	for (int i = 0; i < 15; i++)
		twice[2 * i] = twice[2 * i + 1] = maize[i];
	assert_int_equal(step_down_pairs(twice, 15, 2, p), 0);
	assert_near(p[0], 1726. / 32768);
	assert_near(p[1], 1726. / 32768);
}

/* Counted by a program of its own, all 256 ways. */
CASE(several_metrics_are_corrected_step_by_step)
{
	static const double values[] = {49, 3,	 -67, 1,   8,  -2, 16, 4,
					6,  0.5, 23,  2.5, 28, -1, 41, 3.5};
	static const double none[] = {1, NAN, 2, NAN, 3, 5, NAN, NAN};
	double p[2];

	assert_int_equal(step_down_pairs(values, 8, 2, p), 0);
	assert_near(p[0], 86. / 256);
	assert_near(p[1], 50. / 256);
	assert_int_equal(step_down_pairs(none, 4, 2, p), 0);
	assert_near(p[0], 2. / 8);
	assert_true(isnan(p[1]));
}

/* The mice of B. Efron and R. Tibshirani, An Introduction to the Bootstrap: 3,510 of 11,440. */
CASE(runs_are_divided_in_every_way)
{
	static const double mice[] = {94,  197, 16, 38, 99, 141, 23, 52,
				      104, 146, 10, 50, 31, 40,	 27, 46};
	static const double apart[] = {1, 2, 3, 4, 11, 12, 13, 14};
	static const double same[] = {1, 1, 1, 1, 2, 2, 2, 2};
	double p;

	assert_int_equal(step_down_sides(mice, 7, 9, 1, &p), 0);
	assert_near(p, 3510. / 11440);
	assert_int_equal(step_down_sides(apart, 4, 4, 1, &p), 0);
	assert_near(p, 2. / 70);
	/* infinitely far */
	assert_int_equal(step_down_sides(same, 4, 4, 1, &p), 0);
	assert_near(p, 2. / 70);
	assert_int_equal(step_down_sides(apart, 1, 7, 1, &p), 0);
	assert_true(isnan(p));
}

/* More ways than are tried: some thousand of them, and the same ones each time. */
CASE(many_pairs_are_exchanged_at_random)
{
	double values[2 * 60], p[2], again[2];

	for (int i = 0; i < 60; i++) {
		values[2 * i] = i % 2 ? 1 + i * 1e-3 : -1;
		values[2 * i + 1] = i % 7 ? 1 : -1;
	}
	assert_int_equal(step_down_pairs(values, 60, 2, p), 0);
	assert_int_equal(step_down_pairs(values, 60, 2, again), 0);
	assert_true(p[0] == again[0] && p[1] == again[1]);
	assert_true(p[0] > .5 && p[1] < .001);
	assert_int_equal(step_down_sides(values, 30, 30, 2, p), 0);
	assert_true(p[0] > .2 && p[1] > .2);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(signed_ranks_are_as_in_the_tables),
		cmocka_unit_test(many_ranks_are_nearly_normal),
		cmocka_unit_test(rank_sums_are_as_in_the_tables),
		cmocka_unit_test(shifts_are_as_in_the_book),
		cmocka_unit_test(of_few_there_is_an_estimate_and_no_bound),
		cmocka_unit_test(one_outlier_decides_nothing),
		cmocka_unit_test(pairs_are_exchanged_in_every_way),
		cmocka_unit_test(several_metrics_are_corrected_step_by_step),
		cmocka_unit_test(runs_are_divided_in_every_way),
		cmocka_unit_test(many_pairs_are_exchanged_at_random),
	};

	return RUN(cases);
}
