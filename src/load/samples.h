/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics over the samples of several workers, as if they were one stream. */
#ifndef DWELL_LOAD_SAMPLES_H
#define DWELL_LOAD_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Of one worker: `count` kept of `total` seen, so each stands for total/count. */
struct sample_set {
	const uint64_t *values;
	uint64_t count, total;
};

#define SAMPLE_BUCKETS 64

struct sample_summary {
	uint64_t count; /* kept; 0: nothing else is known */
	uint64_t total; /* seen */
	uint64_t min, max;
	uint64_t p50, p90, p99, p999;
	double mean;
	double cv;			  /* standard deviation of the population / mean */
	uint64_t buckets[SAMPLE_BUCKETS]; /* [2^i, 2^(i+1)); 0 counts in the first */
};

/*
 * The percentiles are nearest rank, index ceil(q * n) - 1 of the sorted values, exactly; where sets
 * were sampled more or less thinly, a value's rank counts by what it stands for. 0 or -ENOMEM.
 */
int samples_summarize(const struct sample_set *sets, size_t count,
		      struct sample_summary *ret_summary) must_check;

/* Coefficient of variation of plain values, of the population; 0 of none or of a zero mean. */
double samples_cv(const double *values, size_t count);

#endif
