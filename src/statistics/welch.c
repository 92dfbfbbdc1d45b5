// SPDX-License-Identifier: GPL-2.0-or-later
#include "statistics/welch.h"

#include <math.h>

void welch_set_make(struct welch_set *set, const double *values, size_t count)
{
	double squares = 0;

	*set = (struct welch_set){.mean = NAN, .min = NAN, .max = NAN, .variance = NAN};
	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		/* fmin() and fmax() prefer the number */
		set->min = fmin(set->min, values[i]);
		set->max = fmax(set->max, values[i]);
		set->mean = set->count++ ? set->mean + values[i] : values[i];
	}
	if (!set->count)
		return;
	set->mean /= (double)set->count;
	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			squares += (values[i] - set->mean) * (values[i] - set->mean);
	/* the mean of equal values may be off them by rounding, and then seem to vary */
	if (set->count > 1)
		set->variance = set->min < set->max ? squares / (double)(set->count - 1) : 0;
}

/*
 * B. L. Welch, "The generalization of 'Student's' problem", Biometrika 34 (1947), with the degrees
 * of freedom of F. E. Satterthwaite. The tails of Student's t are I_x(df / 2, 1 / 2) at
 * x = df / (df + t^2): NIST Handbook of Mathematical Functions (DLMF), 8.17.
 */
double welch_p(const struct welch_set *a, const struct welch_set *b)
{
	double error_a, error_b, error, degrees, t;

	if (a->count < 2 || b->count < 2)
		return NAN;
	error_a = a->variance / (double)a->count;
	error_b = b->variance / (double)b->count;
	error = error_a + error_b;
	if (!(error > 0))
		return NAN;
	/* as shares of their sum: squares of tiny ones would vanish */
	error_a /= error;
	error_b /= error;
	degrees = 1 / (error_a * error_a / (double)(a->count - 1) +
		       error_b * error_b / (double)(b->count - 1));
	t = (b->mean - a->mean) / sqrt(error);
	return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

#define TINY	   1e-300 /* in place of a zero to divide by */
#define PRECISION  1e-15
#define TERMS_MOST 10000

static double nonzero(double value)
{
	return fabs(value) < TINY ? TINY : value;
}

/*
 * The continued fraction of DLMF 8.17.22, by the method of W. J. Lentz (Applied Optics 15, 1976) as
 * modified by I. J. Thompson and A. R. Barnett (Journal of Computational Physics 64, 1986).
 */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), value = d;

	for (int m = 1; m < TERMS_MOST; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double change;

		d = 1 / nonzero(1 + even * d);
		c = nonzero(1 + even / c);
		value *= c * d;
		d = 1 / nonzero(1 + odd * d);
		c = nonzero(1 + odd / c);
		change = c * d;
		value *= change;
		if (fabs(change - 1) < PRECISION)
			break;
	}
	return value;
}

double incomplete_beta(double a, double b, double x)
{
	double front;

	if (!(x > 0) || !(x < 1))
		return x >= 1 ? 1 : isnan(x) ? NAN : 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* it converges fast on this side of the mean only */
	return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a
					 : 1 - front * fraction(b, a, 1 - x) / b;
}
