/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One number of a spec at several values, round after round: the loop of `dwell load --sweep`.
 * load/sweep.h has the steps, and what they come to.
 */
#ifndef DWELL_RESULTS_LOAD_ROUNDS_H
#define DWELL_RESULTS_LOAD_ROUNDS_H

#include "load/sweep.h"
#include "results/load_children.h"
#include "view/sweep.h"

struct load_rounds {
	/* what is asked for; the sweep's sides are what is known */
	struct sweep sweep;
	const char *save; /* a directory for the runs; NULL: nothing is kept */
	uint64_t seed, started_ns;
	struct load_children children;
	struct sweep_course course;
	/* the present run */
	size_t step;
	unsigned int runs; /* so far, those that failed too */
};

/* All rounds. -EINVAL: the spec is wrong; -errno: there is no run. */
int load_rounds_run(struct load_rounds *rounds, struct error *error) must_check;

/* Of the run that begins: the same for all steps of a round. */
uint64_t load_rounds_seed(const struct load_rounds *rounds);

#endif
