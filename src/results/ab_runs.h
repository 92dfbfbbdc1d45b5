/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the runs that `dwell load --ab --save` keeps are its pairs, and at how many numbers of
 * them it was to look. When to end was decided by what they showed, so that who compares them later
 * has to judge as one of these looks did.
 */
#ifndef DWELL_RESULTS_AB_RUNS_H
#define DWELL_RESULTS_AB_RUNS_H

#include "emit/schema.h"
#include "load/side.h"

/* Of a directory, where --ab may have kept runs more than once. All zeros is empty. */
struct ab_runs {
	struct load_starts starts; /* of both sides; none: it has no such runs */
	unsigned int looks;	   /* at any number of them that there may have been */
};

/*
 * Keeps that all runs of the two sides, one or more, are pairs: in a file in `directory`, which
 * replaces that of the same pairs when there were fewer.
 */
int ab_runs_keep(const char *directory, const struct load_side sides[2], unsigned int looks,
		 struct error *error) must_check;

/* A path that is no directory has none. */
int ab_runs_read(struct ab_runs *runs, const char *path, struct error *error) must_check;
void ab_runs_release(struct ab_runs *runs);

extern const struct schema ab_runs_schema;

#endif
