/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far one set of measurements lies from another, and between which bounds, whatever their
 * distribution: the estimate of J. L. Hodges and E. L. Lehmann ("Estimates of location based on
 * rank tests", Ann. Math. Statist. 34, 1963) with the exact interval of F. Wilcoxon's rank tests,
 * as in M. Hollander and D. A. Wolfe, Nonparametric Statistical Methods, chapters 3 and 4. One
 * measurement that is off by any amount moves neither far, which a mean and a bootstrap of few
 * values do not achieve.
 */
#ifndef DWELL_STATISTICS_SHIFT_H
#define DWELL_STATISTICS_SHIFT_H

#include <stddef.h>

#include "base/cleanup.h"

/* NAN: of no values. -INFINITY and INFINITY: of too few for the confidence asked for. */
struct shift {
	double estimate, low, high;
};

/*
 * Of the differences of pairs, B - A: they scatter alike to both sides of the shift. The interval
 * misses it with a probability of at most `alpha`. 0 or -ENOMEM.
 */
int shift_of_pairs(const double *differences, size_t count, double alpha,
		   struct shift *ret_shift) must_check;

/* Of two independent sets: how much has to be added to a's values for them to be as b's. */
int shift_between(const double *a, size_t a_count, const double *b, size_t b_count, double alpha,
		  struct shift *ret_shift) must_check;

/*
 * The largest number of a rank statistic whose probability to be that or less, where nothing is
 * shifted, is at most `tail`; -1: there is none. Of the sum of the ranks of `count` values' one
 * sign (Wilcoxon's signed-rank statistic), and of the pairs in which a's value is above b's (the
 * statistic of Mann and Whitney). -2: out of memory.
 */
long signed_rank_quantile(size_t count, double tail);
long rank_sum_quantile(size_t a_count, size_t b_count, double tail);

#endif
