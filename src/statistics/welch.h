/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether two small sets of values differ by more than they vary. */
#ifndef DWELL_STATISTICS_WELCH_H
#define DWELL_STATISTICS_WELCH_H

#include <stddef.h>

/* Of a set; `variance` is of the population it was drawn from (n - 1), NAN of a single value. */
struct welch_set {
	size_t count;
	double mean, min, max; /* NAN of none */
	double variance;
};

/* NAN among the values is left out: not measured. */
void welch_set_make(struct welch_set *set, const double *values, size_t count);

/*
 * Welch's t-test, two-sided: how likely means at least so far apart are if both sets are drawn
 * from one population. NAN where it is unknown: of a single value, or where nothing varies.
 */
double welch_p(const struct welch_set *a, const struct welch_set *b);

/* Regularized incomplete beta function I_x(a, b), of a, b > 0 and x in [0, 1]. */
double incomplete_beta(double a, double b, double x);

#endif
