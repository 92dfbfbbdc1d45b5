// SPDX-License-Identifier: GPL-2.0-or-later
#include "statistics/shift.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "statistics/order.h"

/* Above, the normal distribution is close to what takes longer to compute. */
#define EXACT_SIGNED_MAX 100
#define EXACT_SUM_MAX	 60

/* The largest value whose counts, from 0 on, make up at most a share of `tail`. */
static long quantile_of(const double *counts, size_t values, double all, double tail)
{
	double sum = 0;

	for (size_t i = 0; i < values; i++) {
		sum += counts[i];
		/* counts are sums of powers of two: the last bits are rounding */
		if (sum > tail * all * (1 + 1e-12))
			return (long)i - 1;
	}
	return (long)values - 1;
}

/* x with a share of `tail` of the standard normal distribution below -x. */
static double normal_quantile(double tail)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / M_SQRT2) / 2 > tail)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static long normal_rank(double mean, double variance, double tail)
{
	double value = floor(mean - normal_quantile(tail) * sqrt(variance) - 0.5);

	return value < 0 ? -1 : (long)value;
}

long signed_rank_quantile(size_t count, double tail)
{
	size_t values = count * (count + 1) / 2 + 1;
	double n = (double)count, *counts;
	long result;

	if (!(tail > 0) || !count)
		return -1;
	if (count > EXACT_SIGNED_MAX)
		return normal_rank(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, tail);
	counts = calloc(values, sizeof(*counts));
	if (!counts)
		return -2;
	counts[0] = 1;
	/* each rank is on the one side or on the other */
	for (size_t rank = 1; rank <= count; rank++)
		for (size_t sum = values; sum-- > rank;)
			counts[sum] += counts[sum - rank];
	result = quantile_of(counts, values, ldexp(1, (int)count), tail);
	free(counts);
	return result;
}

/*
 * How many arrangements give each number is the coefficient of the Gaussian binomial: the product
 * of (1 - x^(a + i)) / (1 - x^i) for i = 1 .. b (Mann and Whitney, Ann. Math. Statist. 18, 1947).
 */
long rank_sum_quantile(size_t a_count, size_t b_count, double tail)
{
	size_t values = a_count * b_count + 1;
	double a = (double)a_count, b = (double)b_count, all = 0, *counts;
	long result;

	if (!(tail > 0) || !a_count || !b_count)
		return -1;
	if (a_count > EXACT_SUM_MAX || b_count > EXACT_SUM_MAX)
		return normal_rank(a * b / 2, a * b * (a + b + 1) / 12, tail);
	counts = calloc(values, sizeof(*counts));
	if (!counts)
		return -2;
	counts[0] = 1;
	for (size_t i = 1; i <= b_count; i++) {
		for (size_t at = values; at-- > a_count + i;)
			counts[at] -= counts[at - a_count - i];
		for (size_t at = i; at < values; at++)
			counts[at] += counts[at - i];
	}
	for (size_t i = 0; i < values; i++)
		all += counts[i];
	result = quantile_of(counts, values, all, tail);
	free(counts);
	return result;
}

/* `rank`: values that the interval leaves out at each end, less one. */
static void shift_make(struct shift *shift, double *values, size_t count, long rank)
{
	size_t out = rank < 0 ? 0 : (size_t)rank + 1;

	order_values(values, count);
	shift->estimate = order_median(values, count);
	if (!out || 2 * out > count) {
		shift->low = -INFINITY;
		shift->high = INFINITY;
		return;
	}
	shift->low = values[out - 1];
	shift->high = values[count - out];
}

int shift_of_pairs(const double *differences, size_t count, double alpha, struct shift *ret_shift)
{
	long rank = signed_rank_quantile(count, alpha / 2);
	size_t used = 0;
	double *means;

	*ret_shift = (struct shift){NAN, NAN, NAN};
	if (!count)
		return 0;
	means = malloc(count * (count + 1) / 2 * sizeof(*means));
	if (!means || rank == -2) {
		free(means);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = i; k < count; k++)
			means[used++] = (differences[i] + differences[k]) / 2;
	shift_make(ret_shift, means, used, rank);
	free(means);
	return 0;
}

int shift_between(const double *a, size_t a_count, const double *b, size_t b_count, double alpha,
		  struct shift *ret_shift)
{
	long rank = rank_sum_quantile(a_count, b_count, alpha / 2);
	size_t used = 0;
	double *differences;

	*ret_shift = (struct shift){NAN, NAN, NAN};
	if (!a_count || !b_count)
		return 0;
	differences = malloc(a_count * b_count * sizeof(*differences));
	if (!differences || rank == -2) {
		free(differences);
		return -ENOMEM;
	}
	for (size_t i = 0; i < a_count; i++)
		for (size_t k = 0; k < b_count; k++)
			differences[used++] = b[k] - a[i];
	shift_make(ret_shift, differences, used, rank);
	free(differences);
	return 0;
}
