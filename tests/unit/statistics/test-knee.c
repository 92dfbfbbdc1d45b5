// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <math.h>

#include "base/array.h"
#include "statistics/knee.h"

#define POINTS 10

CASE(the_example_of_the_paper_has_its_knee_at_two_ninths)
{
	double x[POINTS], y[POINTS];
	size_t at = 0;

	/* figure 2: y = -1 / (x + 0.1) + 5 */
	for (int i = 0; i < POINTS; i++) {
		x[i] = i / 9.;
		y[i] = -1 / (x[i] + .1) + 5;
	}
	assert_true(knee_find(x, y, POINTS, KNEE_CONCAVE, &at));
	assert_int_equal(at, 2);
	assert_false(knee_find(x, y, POINTS, KNEE_CONVEX, &at));
}

CASE(latency_that_rises_late_has_its_knee_where_it_begins)
{
	static const double x[POINTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	/* of the authors' test data in the Python package kneed: the knee is at 7 */
	static const double y[POINTS] = {1, 2, 3, 4, 5, 10, 15, 20, 40, 100};
	size_t at = 0;

	assert_true(knee_find(x, y, POINTS, KNEE_CONVEX, &at));
	assert_int_equal(at, 7);
}

CASE(what_does_not_bend_has_no_knee)
{
	static const double x[POINTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	static const double line[POINTS] = {10, 21, 29, 41, 50, 61, 69, 80, 91, 99};
	static const double flat[POINTS] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
	static const double falling[POINTS] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
	const double unknown[POINTS] = {1, 1, NAN, 1, 1, 1, 1, 1, 50, 100};
	const double *const curves[] = {line, flat, falling, unknown};
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(curves); i++) {
		assert_false(knee_find(x, curves[i], POINTS, KNEE_CONVEX, &at));
		assert_false(knee_find(x, curves[i], POINTS, KNEE_CONCAVE, &at));
	}
	assert_false(knee_find(x, (const double[]){1, 1, 9}, 3, KNEE_CONVEX, &at));
}

/* Three runs of each point: the curve, and so much more or less. */
static struct knee measure(const double *y, double spread, double least)
{
	static const double signs[POINTS] = {1, -1, 1, 1, -1, 1, -1, -1, 1, -1};
	struct knee_point points[POINTS];
	double values[POINTS][3];
	struct knee knee;

	for (int i = 0; i < POINTS; i++) {
		for (int k = 0; k < 3; k++)
			values[i][k] = y[i] + (k - 1) * signs[i] * spread;
		points[i] = (struct knee_point){i, values[i], 3};
	}
	assert_int_equal(knee_of_points(points, POINTS, KNEE_CONVEX, least, 1, &knee), 0);
	return knee;
}

CASE(what_the_runs_agree_on_is_certain)
{
	static const double y[POINTS] = {80, 81, 79, 80, 82, 80, 83, 85, 900, 2400};
	struct knee knee = measure(y, 2, 1.5);

	assert_true(knee.found);
	assert_int_equal(knee.at, 7);
	assert_true(knee.share == 1);
	assert_int_equal(knee.first, 7);
	assert_int_equal(knee.last, 7);
}

CASE(what_they_do_not_agree_on_is_not)
{
	static const double y[POINTS] = {80, 81, 79, 80, 82, 90, 103, 115, 130, 160};
	struct knee knee = measure(y, 60, 1.5);

	assert_true(knee.share < .95);
}

CASE(a_ripple_is_no_knee)
{
	static const double y[POINTS] = {80, 80, 80, 80, 80, 80, 80, 80, 82, 90};
	struct knee knee = measure(y, 0, 1.5);

	assert_false(knee.found);
	assert_true(knee.share == 0);
	assert_true(measure(y, 0, 1.1).found);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(the_example_of_the_paper_has_its_knee_at_two_ninths),
		cmocka_unit_test(latency_that_rises_late_has_its_knee_where_it_begins),
		cmocka_unit_test(what_does_not_bend_has_no_knee),
		cmocka_unit_test(what_the_runs_agree_on_is_certain),
		cmocka_unit_test(what_they_do_not_agree_on_is_not),
		cmocka_unit_test(a_ripple_is_no_knee),
	};

	return RUN(cases);
}
