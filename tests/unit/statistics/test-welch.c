// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <math.h>

#include "base/array.h"
#include "statistics/welch.h"

static void assert_near(double value, double expected, double relative)
{
	if (fabs(value - expected) <= relative * fabs(expected))
		return;
	print_error("%.15g is not %.15g\n", value, expected);
	fail();
}

/* Computed with 30 digits (mpmath's betainc); closed forms where there are some. */
CASE(the_incomplete_beta_function_has_known_values)
{
	static const struct {
		double a, b, x, value;
	} cases[] = {
		{1, 1, .25, .25},
		{1, 3, .5, .875},
		{2, 3, .4, .5248},
		{.5, .5, .5, .5},
		{.5, .5, .3, .369010119565545},
		{.5, .5, 1e-6, 6.36619878470924e-4},
		{5, .5, .9, .316642915020012},
		{8.888, .5, .837, .0794293024696708},
		{50, .5, .999, .752369019965377},
		{1.5, .5, .01, 4.25693286577893e-4},
		{200, 300, .42, .819601066417266},
		{3, 4, 1, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_near(incomplete_beta(cases[i].a, cases[i].b, cases[i].x), cases[i].value,
			    1e-12);
	assert_true(incomplete_beta(3, 4, 0) == 0);
	/* both sides of where it changes over */
	for (double x = 0.05; x < 1; x += 0.05)
		assert_near(incomplete_beta(2.5, 7, x) + incomplete_beta(7, 2.5, 1 - x), 1, 1e-13);
}

static double p_of(const double *a, size_t a_count, const double *b, size_t b_count)
{
	struct welch_set in_a, in_b;

	welch_set_make(&in_a, a, a_count);
	welch_set_make(&in_b, b, b_count);
	return welch_p(&in_a, &in_b);
}

/* R's t.test(extra ~ group, sleep) and t.test(mpg ~ am, mtcars): 0.07939, 0.001374. */
CASE(welch_agrees_with_r)
{
	static const double sleep_1[] = {.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2};
	static const double sleep_2[] = {1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4};
	static const double automatic[] = {21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2,
					   17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7,
					   21.5, 15.5, 15.2, 13.3, 19.2};
	static const double manual[] = {21, 21,	  22.8, 32.4, 30.4, 33.9, 27.3,
					26, 30.4, 15.8, 19.7, 15,   21.4};
	static const double few_a[] = {1, 2}, few_b[] = {3, 5};
	static const double far_a[] = {100, 101, 102}, far_b[] = {200, 203, 201};

	assert_near(p_of(sleep_1, 10, sleep_2, 10), .0793941401873581, 1e-12);
	assert_near(p_of(automatic, 19, manual, 13), .00137363833307103, 1e-11);
	assert_near(p_of(few_a, 2, few_b, 2), .198727388934526, 1e-12);
	assert_near(p_of(far_a, 3, far_b, 3), 5.0825523834182e-7, 1e-9);
	/* whichever is first */
	assert_near(p_of(manual, 13, automatic, 19), .00137363833307103, 1e-11);
}

CASE(what_does_not_vary_cannot_be_tested)
{
	static const double same[] = {10, 10, 10}, other[] = {11, 11}, some[] = {10, 11, 12};
	static const double tenths[] = {.1, .1, .1}, with_holes[] = {NAN, 10, NAN, 11, 12};
	struct welch_set set;

	assert_true(isnan(p_of(same, 3, other, 2)));
	assert_true(isnan(p_of(some, 1, some, 3)));
	assert_true(isnan(p_of(some, 0, some, 3)));
	/* one that varies is enough */
	assert_near(p_of(some, 3, same, 3), .225403330758517, 1e-12);
	welch_set_make(&set, tenths, 3);
	assert_true(set.variance == 0);
	welch_set_make(&set, with_holes, 5);
	assert_int_equal(set.count, 3);
	assert_true(set.mean == 11 && set.min == 10 && set.max == 12 && set.variance == 1);
	welch_set_make(&set, with_holes, 1);
	assert_true(!set.count && isnan(set.mean));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(the_incomplete_beta_function_has_known_values),
		cmocka_unit_test(welch_agrees_with_r),
		cmocka_unit_test(what_does_not_vary_cannot_be_tested),
	};

	return RUN(cases);
}
