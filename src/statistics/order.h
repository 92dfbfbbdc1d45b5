/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values by size. */
#ifndef DWELL_STATISTICS_ORDER_H
#define DWELL_STATISTICS_ORDER_H

#include <stddef.h>

/* None of them NAN. */
void order_values(double *values, size_t count);

/* Of values that are in order; NAN of none. */
double order_median(const double *values, size_t count);

/*
 * The median of those that are not NAN. `buffer` has room for `count`. *ret_known, if not NULL, is
 * how many these are.
 */
double order_median_known(const double *values, size_t count, double *buffer, size_t *ret_known);

#endif
