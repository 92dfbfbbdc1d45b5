/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that measures how long each of its functions takes, against what `dwell profile` reports
 * of them: shares of CPU time and of waits.
 */
#ifndef DWELL_VERIFY_CODE_H
#define DWELL_VERIFY_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/verdict.h"

#define CODE_NAME "functions"
#define CODE_HELP "functions compute, sleep and wait, by dwell profile"

/* The functions, and the states that they are in: "cpu" is user and kernel. */
#define CODE_FUNCTIONS(X)                                                                          \
	X(verify_code_computes, "cpu")                                                             \
	X(verify_code_computes_more, "cpu")                                                        \
	X(verify_code_recurses, "cpu")                                                             \
	X(verify_code_sleeps, "sleep")                                                             \
	X(verify_code_waits, "ipc")

enum code_function {
#define X(name, state) CODE_##name,
	CODE_FUNCTIONS(X)
#undef X
		CODE_COUNT,
};

/* Time of each. As dwell has it with the standard error of that; both 0 in the truth's. */
struct code_shares {
	double ns[CODE_COUNT], error_ns[CODE_COUNT];
	double all_ns; /* in their states, also of none of them */
	uint64_t lost; /* of dwell's stacks */
};

struct code_judgement {
	unsigned int shares, right;
	double error_points; /* the largest, in percent of all time */
	char why[160];	     /* something is wrong; empty: nothing */
};

/* Pure. Right is a share within a point, and a few of its own standard errors. */
void code_judge(struct code_judgement *ret_judgement, const struct code_shares *truth,
		const struct code_shares *seen);

struct pattern_result;
struct verification;

/* One round, from 1. The verdict is in `pattern`, the counts in `result`. */
void code_run(struct verification *result, struct pattern_result *pattern, unsigned int round);

#endif
