// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int ranks_add(struct ranks *ranks, double error, const char *pattern)
{
	error = fabs(error);
	if (array_reserve(&ranks->errors, &ranks->room, ranks->count + 1, sizeof(*ranks->errors)) <
	    0)
		return -ENOMEM;
	if (!ranks->worst_pattern || error >= ranks->worst) {
		ranks->worst = error;
		ranks->worst_pattern = pattern;
	}
	ranks->errors[ranks->count++] = error;
	return 0;
}

static double rank(const struct ranks *ranks, double quantile)
{
	size_t index = (size_t)ceil(quantile * (double)ranks->count);

	return ranks->count ? ranks->errors[index ? index - 1 : 0] : NAN;
}

void ranks_end(struct ranks *ranks)
{
	if (ranks->count)
		qsort(ranks->errors, ranks->count, sizeof(*ranks->errors), compare_doubles);
	ranks->p50 = rank(ranks, 0.5);
	ranks->p99 = rank(ranks, 0.99);
	ranks->worst = rank(ranks, 1);
}

void ranks_release(struct ranks *ranks)
{
	free(ranks->errors);
}
