/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two specs by turns, pair after pair, until it is clear whether they differ: the loop of `dwell
 * load --ab`. load/ab_plan.h says in which order, and after which pairs it may end.
 */
#ifndef DWELL_RESULTS_LOAD_PAIRS_H
#define DWELL_RESULTS_LOAD_PAIRS_H

#include <limits.h>

#include "load/ab_plan.h"
#include "load/compare.h"
#include "results/load_children.h"
#include "view/compare.h"

struct load_pairs {
	/* what is asked for */
	const char *paths[2]; /* of the specs */
	const char *save;     /* a directory for the runs; NULL: nothing is kept */
	struct load_question question;
	unsigned int wanted; /* pairs at most; 0: by `course.budget_ns`, or the default */
	uint64_t seed, started_ns;
	bool is_shown; /* what is known is looked at after each pair, which ends nothing */
	struct load_children children;
	/* what runs */
	struct ab_plan plan;
	int side;	    /* 0: A */
	int reports[2];	    /* what each side of the pair has written */
	char scheduler[64]; /* of sched_ext, at the start; empty: none */
	/* what is known; to be released */
	struct load_side sides[2];
	struct load_comparison comparison;
	struct compare_course course;
};

/*
 * All pairs: `sides`, `comparison` and `course` say what came of them. -EINVAL: a spec is wrong;
 * -errno: there is no pair.
 */
int load_pairs_run(struct load_pairs *pairs, struct error *error) must_check;
void load_pairs_release(struct load_pairs *pairs);

/* Of the run that begins. */
uint64_t load_pairs_seed(const struct load_pairs *pairs);

/* The directory of a side's runs, below `save`. */
void load_pairs_directory(char into[PATH_MAX], const struct load_pairs *pairs, int side);

#endif
