/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of several metrics differ, with one probability for all of them that any is taken for
 * different and is not: the step-down procedure of P. H. Westfall and S. S. Young, Resampling-Based
 * Multiple Testing (1993), algorithm 2.8. The largest Student's t of all metrics is compared with
 * those it would have if A and B had been exchanged, in any of the ways in which they might. So the
 * answer is right whatever the distribution, and metrics that go together cost less than they do
 * with Holm's correction, which takes each for one of its own.
 */
#ifndef DWELL_STATISTICS_STEP_DOWN_H
#define DWELL_STATISTICS_STEP_DOWN_H

#include <stddef.h>

#include "base/cleanup.h"

/*
 * `differences[pair * metrics + metric]` is B - A, NAN where it was not measured; which of a pair
 * was first must have been drawn by lot. ret_p[metric]: two-sided, corrected; NAN where fewer than
 * two pairs have it. All 2^(pairs - 1) ways up to 15 pairs, else some thousand of them by a
 * generator that always begins alike. 0 or -ENOMEM.
 */
int step_down_pairs(const double *differences, size_t pairs, size_t metrics,
		    double *ret_p) must_check;

/*
 * Of independent runs, a_count of A and then b_count of B: `values[run * metrics + metric]`. NAN
 * where a side has fewer than two.
 */
int step_down_sides(const double *values, size_t a_count, size_t b_count, size_t metrics,
		    double *ret_p) must_check;

#endif
