/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a share of the time went on over a recording, in fixed memory: the means of up to BATCHES_MAX
 * batches of intervals. What happens in one interval goes on in the next one, so intervals are not
 * independent of each other, as a test of significance wants its values; means of long batches
 * nearly are, and what dependence remains is taken off their number.
 */
#ifndef DWELL_MODEL_BATCHES_H
#define DWELL_MODEL_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "statistics/welch.h"

#define BATCHES_MAX 32

/* How long each batch lasted: of all series of a recording alike. All zeros is empty. */
struct batches {
	uint64_t duration_ns[BATCHES_MAX];
	unsigned int count;
	unsigned int each;   /* intervals in a batch */
	unsigned int inside; /* of them in the last one */
};

/* Time of one thing in each batch. All zeros is none. */
struct series {
	uint64_t ns[BATCHES_MAX];
};

/*
 * An interval begins, and what series_add() takes is of it. True: batches were merged in pairs, and
 * so must be all series: series_halve().
 */
bool batches_next(struct batches *batches, uint64_t duration_ns);
void series_halve(struct series *series);

uint64_t batches_duration_ns(const struct batches *batches);
uint64_t series_total_ns(const struct series *series);

/* Adds time of the present interval. */
void series_add(struct series *series, const struct batches *batches, uint64_t ns);

/*
 * Adds time of a single wait that has ended in the present interval: no batch has more of it than
 * it lasted, what is left is of batches before. What is older than the first one is left out.
 */
void series_add_back(struct series *series, const struct batches *batches, uint64_t ns);

/* The same, taken from another series, and no more than that has; how much it was. */
uint64_t series_move_back(struct series *into, struct series *from, const struct batches *batches,
			  uint64_t ns);

/* Each batch has `factor` times as much; and another series is added. */
void series_scale(struct series *series, double factor);
void series_sum(struct series *into, const struct series *more);

/*
 * The shares of the batches as a set for welch_p(): the mean, weighted by how long a batch is;
 * `variance` / `count` is the square of its error, `count` - 1 degrees of freedom. What dependence
 * of neighbours leaves of the batches' number is in *ret_independent. NULL: all are zero.
 */
void series_measure(const struct series *series, const struct batches *batches,
		    struct welch_set *set, size_t *ret_independent);

/* How many batches of equal weight these are: a last one may be short. */
unsigned int batches_weight(const struct batches *batches);

/* welch_p(), or 0 where neither set varies and their means differ, 1 where they do not. */
double series_p(const struct welch_set *a, const struct welch_set *b);

#endif
