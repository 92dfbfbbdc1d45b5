// SPDX-License-Identifier: GPL-2.0-or-later
#include "statistics/order.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

void order_values(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
}

double order_median(const double *values, size_t count)
{
	return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

double order_median_known(const double *values, size_t count, double *buffer, size_t *ret_known)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			buffer[known++] = values[i];
	order_values(buffer, known);
	if (ret_known)
		*ret_known = known;
	return order_median(buffer, known);
}
