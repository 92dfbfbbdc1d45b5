/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How schedulers compare, under each kernel and topology: figures of the same load under each, and
 * what they differ in from the first scheduler of the matrix, by load/compare.h. Runs of one number
 * are a pair: they were made one after the other.
 */
#ifndef DWELL_MATRIX_SCORES_H
#define DWELL_MATRIX_SCORES_H

#include "load/compare.h"
#include "matrix/matrix.h"

/* A metric of a group of workers under a scheduler. */
struct matrix_score {
	size_t kernel, topology, scheduler;
	const struct load_group_key *group;
	enum load_metric metric;
	unsigned int runs; /* of which it is the median; 0: there are no figures */
	double median;
	bool is_baseline;
	struct load_change change; /* from the baseline; verdict LOAD_UNKNOWN: not compared */
	unsigned int rank;	   /* from 1 on, of the schedulers that have it; 0: no order */
};

struct matrix_scores {
	/* by kernel, topology, group and metric, then by scheduler */
	struct matrix_score *items;
	size_t count, room;
	size_t baseline;    /* number of its scheduler */
	double *mean_ranks; /* by scheduler, over decisive metrics; NAN: it has none */
	bool has_intervals; /* there are enough runs for any */
	size_t apart;	    /* runs that are no pair with the baseline's, which is of a --resume */
	size_t comparisons; /* of that many runs: each has LOAD_ALPHA of its own to be wrong */
	/* what the rows point into */
	struct load_side *sides;
	size_t side_count;
};

#define cleanup_scores cleanup(matrix_scores_release)

/* Of cells that have run. Nothing: another command, or not more than one run. -ENOMEM. */
int matrix_scores_make(struct matrix_scores *scores, const struct matrix *matrix) must_check;
void matrix_scores_release(struct matrix_scores *scores);

#endif
