/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From reports to a verdict. */
#ifndef DWELL_LOAD_CHECKS_H
#define DWELL_LOAD_CHECKS_H

#include "base/verdict.h"
#include "load/summary.h"

enum check_kind {
	CHECK_FLAG,
	CHECK_DURATION, /* figures in ns */
	CHECK_SHARE,
	CHECK_NUMBER,
};

/* What a spec may ask for, and what is always looked at (offset 0 and no help). */
struct check_info {
	const char *key;
	enum check_kind kind;
	size_t offset; /* in struct spec_checks */
	const char *help;
};

extern const struct check_info check_info[]; /* ends with a NULL key */

/* One thing that was looked at: a group, or a worker where it failed. */
struct check_result {
	const struct check_info *check;
	enum verdict verdict;
	const struct run_group *worker_group; /* NULL: of the whole run */
	uint32_t tid;			      /* 0: of the group */
	double value, limit;		      /* NAN: none */
	char text[400];			      /* the same for people */
};

struct check_results {
	struct check_result *items;
	size_t count, room;
	enum verdict verdict;
};

/*
 * `summaries`: one per group of the run. At fewer wake samples than CHECK_SAMPLES_MIN a percentile
 * is no figure to judge by. What fails, and may have failed because others had the CPUs, is
 * inconclusive. 0 or -ENOMEM.
 */
#define CHECK_SAMPLES_MIN 100
int checks_judge(const struct run *run, const struct summary *summaries,
		 const struct pressure *pressure, struct check_results *check_results) must_check;
void check_results_release(struct check_results *check_results);

/*
 * Whether a check of that name, seen from inside a machine that had half of its CPUs or less, may
 * have failed by that. NAN: it has no figure, or no limit.
 */
bool check_may_lack_cpus(const char *name, double value, double limit) must_check;

/* In the unit of the check, for people. */
void check_format(char *into, size_t room, enum check_kind kind, double value);

#endif
