/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the cells of a matrix, as many guests at once as there is room for. */
#ifndef DWELL_MATRIX_RUNNER_H
#define DWELL_MATRIX_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "matrix/matrix.h"

struct matrix_run_options {
	uint64_t jobs;	 /* guests at once; 0: by CPUs and memory of this host */
	const char *out; /* file of the verdicts so far, rewritten after each guest; NULL: none */
	bool rerun;	 /* with `out`: what fails runs once more, with a recording */
	bool resume;	 /* what it has a verdict for is not run */
	size_t shard, shards; /* only cells of that part, from 0 on; shards 0: all */
};

/*
 * Each cell without a verdict gets one, unless a signal ends it before: *ret_interrupted. -EEXIST,
 * before anything is run: the file is there, and is not to be resumed.
 */
int matrix_run(struct matrix *matrix, const struct matrix_run_options *options,
	       bool *ret_interrupted, struct error *error) must_check;

/* CPUs that this process may use. */
unsigned int matrix_host_cpus(void);

#endif
