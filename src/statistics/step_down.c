// SPDX-License-Identifier: GPL-2.0-or-later
#include "statistics/step_down.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define WAYS_ALL    16384 /* up to so many, each is tried */
#define WAYS_CHOSEN 4999

/* What is rounded differently is not larger. */
#define ROUNDING (1 - 1e-9)

struct step_down {
	const double *values;
	size_t rows, metrics;
	double *statistics, *observed; /* by metric */
	size_t *order;		       /* metrics, the largest of `observed` first */
	size_t order_count;	       /* measured */
	size_t *hits;		       /* by place in `order` */
	size_t ways;
};

static int prepare(struct step_down *test, const double *values, size_t rows, size_t metrics)
{
	*test = (struct step_down){.values = values, .rows = rows, .metrics = metrics};
	test->statistics = calloc(metrics, sizeof(double));
	test->observed = calloc(metrics, sizeof(double));
	test->order = calloc(metrics, sizeof(size_t));
	test->hits = calloc(metrics, sizeof(size_t));
	return test->statistics && test->observed && test->order && test->hits ? 0 : -ENOMEM;
}

static void release(struct step_down *test)
{
	free(test->statistics);
	free(test->observed);
	free(test->order);
	free(test->hits);
}

/* What was measured, by size. Metrics are few. */
static void observe(struct step_down *test)
{
	memcpy(test->observed, test->statistics, test->metrics * sizeof(double));
	for (size_t i = 0; i < test->metrics; i++) {
		size_t at = test->order_count;

		if (isnan(test->observed[i]))
			continue;
		while (at > 0 && test->observed[test->order[at - 1]] < test->observed[i]) {
			test->order[at] = test->order[at - 1];
			at--;
		}
		test->order[at] = i;
		test->order_count++;
	}
}

/* Of one way to exchange the sides: the largest of each metric and all that are below it. */
static void count(struct step_down *test)
{
	double largest = 0;

	for (size_t place = test->order_count; place-- > 0;) {
		size_t metric = test->order[place];

		largest = fmax(largest, test->statistics[metric]);
		test->hits[place] += largest >= test->observed[metric] * ROUNDING;
	}
	test->ways++;
}

static void conclude(const struct step_down *test, double *ret_p)
{
	double largest = 0;

	for (size_t i = 0; i < test->metrics; i++)
		ret_p[i] = NAN;
	for (size_t place = 0; place < test->order_count; place++) {
		largest = fmax(largest, (double)test->hits[place] / (double)test->ways);
		ret_p[test->order[place]] = largest;
	}
}

/* Student's t of the differences, with the signs that `flips` gives them. */
static void flip(struct step_down *test, const bool *flips)
{
	for (size_t metric = 0; metric < test->metrics; metric++) {
		double sum = 0, squares = 0, n = 0, mean, variance;

		for (size_t row = 0; row < test->rows; row++) {
			double value = test->values[row * test->metrics + metric];

			if (isnan(value))
				continue;
			n++;
			sum += flips[row] ? -value : value;
			squares += value * value;
		}
		mean = n > 0 ? sum / n : NAN;
		variance = n > 1 ? fmax(0, (squares / n - mean * mean) * n / (n - 1)) : NAN;
		/* equal differences vary by rounding */
		if (variance <= 1e-18 * mean * mean)
			variance = 0;
		test->statistics[metric] = n < 2       ? NAN
					   : mean == 0 ? 0
						       : fabs(mean) / sqrt(variance / n);
	}
}

int step_down_pairs(const double *differences, size_t pairs, size_t metrics, double *ret_p)
{
	struct step_down test;
	bool *flips = calloc(pairs + 1, sizeof(bool));
	/* the other half is the same with all signs changed */
	bool all = pairs && pairs - 1 < 63 && 1ULL << (pairs - 1) <= WAYS_ALL;
	uint64_t ways = all ? 1ULL << (pairs - 1) : WAYS_CHOSEN + 1, random = random_seed(1, 0);
	int result = prepare(&test, differences, pairs, metrics);

	if (result < 0 || !flips) {
		release(&test);
		free(flips);
		return -ENOMEM;
	}
	for (uint64_t way = 0; way < ways; way++) {
		/* the first one is as it was */
		for (size_t i = 0; way && i < pairs; i++)
			flips[i] = all ? way >> i & 1 : random_next(&random) >> 40 & 1;
		flip(&test, flips);
		if (!way)
			observe(&test);
		count(&test);
	}
	conclude(&test, ret_p);
	release(&test);
	free(flips);
	return 0;
}

/* Welch's t of those that are `chosen` as A's against the others. */
static void divide(struct step_down *test, const bool *chosen)
{
	for (size_t metric = 0; metric < test->metrics; metric++) {
		double n[2] = {0, 0}, mean[2] = {0, 0}, squares[2] = {0, 0}, variance, difference;

		for (size_t row = 0; row < test->rows; row++) {
			double value = test->values[row * test->metrics + metric], step;
			int side = !chosen[row];

			if (isnan(value))
				continue;
			/* B. P. Welford, Technometrics 4 (1962) */
			step = value - mean[side];
			mean[side] += step / ++n[side];
			squares[side] += step * (value - mean[side]);
		}
		difference = mean[1] - mean[0];
		variance = squares[0] / (n[0] * (n[0] - 1)) + squares[1] / (n[1] * (n[1] - 1));
		if (variance <= 1e-18 * difference * difference)
			variance = 0;
		test->statistics[metric] = n[0] < 2 || n[1] < 2 ? NAN
					   : difference == 0	? 0
								: fabs(difference) / sqrt(variance);
	}
}

/* The next way to choose as many, in lexical order; false: it was the last. */
static bool choose_next(bool *chosen, size_t rows)
{
	size_t at = rows, behind = 0;

	while (at > 0 && chosen[at - 1]) {
		at--;
		behind++;
	}
	while (at > 0 && !chosen[at - 1])
		at--;
	if (!at)
		return false;
	/* one step to the right, and all that were behind it follow */
	memset(chosen + at - 1, 0, (rows - at + 1) * sizeof(bool));
	for (size_t i = 0; i <= behind; i++)
		chosen[at + i] = true;
	return true;
}

/* R. A. Fisher and F. Yates's shuffle. */
static void shuffle(bool *chosen, size_t rows, uint64_t *random)
{
	for (size_t i = rows; i > 1; i--) {
		size_t other = random_next(random) % i;
		bool kept = chosen[i - 1];

		chosen[i - 1] = chosen[other];
		chosen[other] = kept;
	}
}

static double binomial(size_t n, size_t k)
{
	double result = 1;

	for (size_t i = 1; i <= k; i++)
		result *= (double)(n - k + i) / (double)i;
	return result;
}

int step_down_sides(const double *values, size_t a_count, size_t b_count, size_t metrics,
		    double *ret_p)
{
	struct step_down test;
	size_t rows = a_count + b_count;
	bool *chosen = calloc(rows + 1, sizeof(bool));
	bool all = binomial(rows, a_count) <= WAYS_ALL;
	uint64_t random = random_seed(2, 0);
	int result = prepare(&test, values, rows, metrics);

	if (result < 0 || !chosen) {
		release(&test);
		free(chosen);
		return -ENOMEM;
	}
	for (size_t i = 0; i < a_count; i++)
		chosen[i] = true;
	do {
		divide(&test, chosen);
		if (!test.ways)
			observe(&test);
		/* where a metric lacks values, a side may have too few of it */
		for (size_t i = 0; i < metrics; i++)
			if (isnan(test.statistics[i]))
				test.statistics[i] = 0;
		count(&test);
		if (!all)
			shuffle(chosen, rows, &random);
	} while (all ? choose_next(chosen, rows) : test.ways <= WAYS_CHOSEN);
	conclude(&test, ret_p);
	release(&test);
	free(chosen);
	return 0;
}
