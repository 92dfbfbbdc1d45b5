/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What two sets of runs of `dwell load` differ in, as text and as JSON. */
#ifndef DWELL_VIEW_COMPARE_H
#define DWELL_VIEW_COMPARE_H

#include "base/output.h"
#include "emit/emit.h"
#include "load/compare.h"
#include "model/comparison.h"

/* Of runs that were made to be compared: `dwell load --ab`. */
struct compare_course {
	uint64_t elapsed_ns;
	uint64_t budget_ns;  /* 0: none */
	unsigned int pairs;  /* compared */
	unsigned int voided; /* of which one could not be run */
	enum compare_end {
		COMPARE_DECIDED,
		COMPARE_PAIRS, /* as many as were asked for */
		COMPARE_BUDGET,
		COMPARE_INTERRUPTED,
		COMPARE_FAILED, /* runs did not come to their end, several in a row */
	} end;
};

/*
 * `paths`: what a and b were read from, or the specs that were run. `course`: NULL of kept runs.
 * `all`: metrics that did not change too.
 */
void compare_table(struct output *out, const struct load_comparison *comparison,
		   const char *const paths[2], const struct compare_course *course, bool all);

extern const struct schema compare_load_schema, metric_schema;

/* As emit_result(), of `compare_load_schema`; in formats of rows the metrics. */
void compare_emit(const struct emit *emit, const struct load_comparison *comparison,
		  const char *const paths[2], const struct compare_course *course);

/* What two measurements of blocked workers differ in. */
struct blocked_comparison {
	const char *const *paths; /* two */
	const struct compared_side *sides[2];
	const struct comparison *comparison;
	size_t top; /* hotspots on the page */
};

/* The row is a struct blocked_comparison. */
extern const struct schema compare_blocked_schema;

void compare_blocked_table(struct output *out, const struct blocked_comparison *pair);

/* By enum comparison_change. */
extern const char *const compare_changes[];

/* What metrics of wakeups are of, by enum load_wakes; NULL: of none. */
extern const char *const compare_wakes[LOAD_WAKES_TO_RUN + 1];

/* For verdicts of people and of programs; NULL of LOAD_UNKNOWN. */
extern const char *const compare_verdicts[LOAD_VERDICTS];

#endif
