/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a curve bends: V. Satopää, J. Albrecht, D. Irwin and B. Raghavan, "Finding a 'Kneedle' in a
 * Haystack: Detecting Knee Points in System Behavior" (ICDCS Workshops, 2011). Both axes are scaled
 * to 0 to 1; the knee is where the curve is farthest from the straight line between its ends. It
 * counts if the distance shrinks again behind it by the sensitivity S times the mean step along x;
 * S is 1, as the authors have it.
 *
 * They smooth the curve first. Here each point is the median of several measurements instead, and
 * how certain the knee is comes from drawing these again and again, with replacement (B. Efron,
 * "Bootstrap Methods: Another Look at the Jackknife", Ann. Statist. 7, 1979).
 */
#ifndef DWELL_STATISTICS_KNEE_H
#define DWELL_STATISTICS_KNEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum knee_shape {
	KNEE_CONVEX,  /* low for long, then it rises: latency */
	KNEE_CONCAVE, /* rises, then it does no more: throughput */
};

#define KNEE_POINTS_LEAST 4
#define KNEE_ALPHA	  0.05 /* probability of a wrong answer that is accepted */

/*
 * `x` rises, and `y` does on the whole. False: there is no knee, or there are fewer than
 * KNEE_POINTS_LEAST points, or one of `y` is not finite.
 */
bool knee_find(const double *x, const double *y, size_t count, enum knee_shape shape,
	       size_t *ret_at);

/* Values measured at a point. */
struct knee_point {
	double x;
	const double *values; /* none of them NAN */
	size_t count;
};

struct knee {
	bool found;	    /* in the medians, at `at` */
	double share;	    /* of draws in which there is a knee: 0 to 1 */
	size_t at;	    /* point */
	size_t first, last; /* of draws with one, all but KNEE_ALPHA have it from here to here */
};

/*
 * `least`: the curve's largest median is so many times the smallest, or there is no knee: scaled
 * axes make one of any ripple. `points` have a value each. The same `seed` gives the same. 0 or
 * -ENOMEM.
 */
int knee_of_points(const struct knee_point *points, size_t count, enum knee_shape shape,
		   double least, uint64_t seed, struct knee *ret_knee) must_check;

#endif
