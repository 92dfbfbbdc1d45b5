// SPDX-License-Identifier: GPL-2.0-or-later
#include "statistics/knee.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "statistics/order.h"

#define SENSITIVITY 1.
#define DRAWS	    1000

/* How far a point is from the line, to the side that the curve bends to, on scaled axes. */
static double distance(const double *x, const double *y, size_t count, enum knee_shape shape,
		       size_t i, double low, double high)
{
	double along = (x[i] - x[0]) / (x[count - 1] - x[0]);
	double up = (y[i] - low) / (high - low);

	return shape == KNEE_CONVEX ? along - up : up - along;
}

bool knee_find(const double *x, const double *y, size_t count, enum knee_shape shape,
	       size_t *ret_at)
{
	double low = INFINITY, high = -INFINITY, farthest = -INFINITY, nearest = INFINITY;

	if (count < KNEE_POINTS_LEAST)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(y[i]))
			return false;
		low = fmin(low, y[i]);
		high = fmax(high, y[i]);
	}
	if (!(high > low) || !(y[count - 1] > y[0]))
		return false;
	for (size_t i = 0; i < count; i++) {
		double far = distance(x, y, count, shape, i, low, high);

		if (far <= farthest)
			continue;
		farthest = far;
		*ret_at = i;
	}
	for (size_t i = *ret_at + 1; i < count; i++)
		nearest = fmin(nearest, distance(x, y, count, shape, i, low, high));
	/* at an end it bends nowhere */
	return *ret_at && nearest < farthest - SENSITIVITY / (double)(count - 1);
}

static bool find(const double *x, const double *y, size_t count, enum knee_shape shape,
		 double least, size_t *ret_at)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < count; i++) {
		low = fmin(low, y[i]);
		high = fmax(high, y[i]);
	}
	return high >= least * low && knee_find(x, y, count, shape, ret_at);
}

/* The knees of as many curves as have one; returns how many. */
static size_t draw_all(const struct knee_point *points, size_t count, enum knee_shape shape,
		       double least, uint64_t seed, double *const buffers[3], double *knees)
{
	double *x = buffers[0], *y = buffers[1], *drawn = buffers[2];
	uint64_t random = random_seed(seed, 0);
	size_t found = 0, at;

	for (int draw = 0; draw < DRAWS; draw++) {
		for (size_t i = 0; i < count; i++) {
			for (size_t k = 0; k < points[i].count; k++)
				drawn[k] = points[i].values[(random_next(&random) >> 16) %
							    points[i].count];
			order_values(drawn, points[i].count);
			y[i] = order_median(drawn, points[i].count);
		}
		if (find(x, y, count, shape, least, &at))
			knees[found++] = (double)at;
	}
	return found;
}

int knee_of_points(const struct knee_point *points, size_t count, enum knee_shape shape,
		   double least, uint64_t seed, struct knee *ret_knee)
{
	size_t most = 0, found, tail;
	double *buffer, *knees;

	*ret_knee = (struct knee){.found = false};
	for (size_t i = 0; i < count; i++)
		most = points[i].count > most ? points[i].count : most;
	buffer = calloc(2 * count + most + DRAWS, sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	knees = buffer + 2 * count + most;
	for (size_t i = 0; i < count; i++) {
		buffer[i] = points[i].x;
		buffer[count + i] = order_median_known(points[i].values, points[i].count,
						       buffer + 2 * count, NULL);
	}
	ret_knee->found = find(buffer, buffer + count, count, shape, least, &ret_knee->at);
	found = draw_all(points, count, shape, least, seed,
			 (double *const[]){buffer, buffer + count, buffer + 2 * count}, knees);
	ret_knee->share = (double)found / DRAWS;
	if (found) {
		order_values(knees, found);
		tail = (size_t)(KNEE_ALPHA / 2 * (double)found);
		ret_knee->first = (size_t)knees[tail];
		ret_knee->last = (size_t)knees[found - 1 - tail];
	}
	free(buffer);
	return 0;
}
