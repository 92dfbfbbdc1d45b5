/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two recordings of threads: what got worse, and because of whom. A share of the time is different
 * if it moved by both gates and by more than chance: Welch's t-test over batches of intervals
 * (model/batches.h), with S. Holm's correction for the many rows ("A simple sequentially rejective
 * multiple test procedure", Scandinavian Journal of Statistics 6, 1979): whatever the rows have to
 * do with each other, all verdicts together are wrong by chance in at most SHARE_SIGNIFICANT of
 * comparisons. Half of that is for programs and their states, which are corrected by themselves: of
 * reasons, culprits and code there may be hundreds, and the more of them are recorded, the less
 * would be found of the states, which a person asks about first. Neither family waits for what the
 * other one decides, so the halves add up, and a state may have another cause without being longer.
 */
#ifndef DWELL_MODEL_SHARE_COMPARISON_H
#define DWELL_MODEL_SHARE_COMPARISON_H

#include "model/shares.h"

#define SHARE_SIGNIFICANT   0.01
#define SHARE_GATE_ABSOLUTE 0.001 /* of the time measured */
#define SHARE_GATE_RELATIVE 0.1	  /* of A's share */
/*
 * In place of the first, of a reason or culprit in a state that has not moved: which of several
 * ended a wait, or how often the CPU was idle, differs between two runs of the same load.
 */
#define SHARE_GATE_SHIFT    0.005
#define SHARE_BATCHES_LEAST 4 /* with fewer, or fewer independent ones, nothing is decided */

/*
 * MORE and LESS: of states that are not lost, in which a change is neither good nor bad. CHANCE: it
 * moved by both gates, but not by more than chance; SAME: by less than a gate.
 */
#define SHARE_VERDICTS(X)                                                                          \
	X(UNKNOWN, NULL)                                                                           \
	X(NEW, "new")                                                                              \
	X(WORSE, "worse")                                                                          \
	X(BETTER, "better")                                                                        \
	X(GONE, "gone")                                                                            \
	X(MORE, "more")                                                                            \
	X(LESS, "less")                                                                            \
	X(UNDECIDED, "undecided")                                                                  \
	X(CHANCE, "chance")                                                                        \
	X(SAME, "same")

enum share_verdict {
#define X(name, key) SHARE_IS_##name,
	SHARE_VERDICTS(X)
#undef X
		SHARE_VERDICTS_COUNT,
};

struct share_side {
	bool known; /* measured, and not too much to be kept */
	uint64_t total_ns;
	double share;	    /* of the time measured; of several threads may be above 1 */
	size_t independent; /* values that its batches are worth */
};

struct share_row {
	const struct share_key *key;
	enum share_verdict verdict;
	bool is_lost;
	struct share_side sides[2];
	double change;	 /* of the shares; NAN: not known in both */
	double relative; /* change / A's share; INFINITY: from 0 to something */
	double p;	 /* NAN: not tested */
	double adjusted; /* for the number of rows of its family; NAN as well */
};

/* What each program did, by its number. */
struct share_program {
	struct series lost[2];
	uint64_t observed_ns[2];
	uint64_t states_ns[2][STATES], reasons_ns[2][STATES];
	uint64_t unknown_ns[2][STATES];		/* of no culprit, or of too many */
	uint64_t code_ns[2][STATES];		/* with a stack, or estimated by one */
	const struct share_row *states[STATES]; /* NULL: no time in it */
};

struct share_comparison {
	const struct shares *sides[2];
	struct share_row *rows; /* largest change that is more than chance first */
	size_t count;
	struct share_program *programs;
	struct share_key *program_keys; /* of SHARE_PROGRAM */
	size_t program_count;
	unsigned int batches[2];
	size_t tested;
	size_t verdicts[SHARE_VERDICTS_COUNT]; /* of states alone, so that each counts once */
};

/* The sides share their keys, and must outlive it. 0 or -ENOMEM. */
int share_comparison_make(struct share_comparison *comparison, const struct shares *a,
			  const struct shares *b) must_check;
void share_comparison_release(struct share_comparison *comparison);

/* Either has too few intervals to distinguish a change from chance. */
static inline bool share_comparison_is_short(const struct share_comparison *comparison)
{
	return comparison->batches[0] < SHARE_BATCHES_LEAST ||
	       comparison->batches[1] < SHARE_BATCHES_LEAST;
}

static inline bool share_verdict_is_worse(enum share_verdict verdict)
{
	return verdict == SHARE_IS_WORSE || verdict == SHARE_IS_NEW;
}

static inline bool share_verdict_is_better(enum share_verdict verdict)
{
	return verdict == SHARE_IS_BETTER || verdict == SHARE_IS_GONE;
}

/* A program lost more of the time in B than `share` more of A's; the first one, or NULL. */
const struct share_row *share_comparison_worse(const struct share_comparison *comparison,
					       double share, size_t *position);

/* Of the state that a row is about, the row of `level` that grew most; NULL: none did. */
const struct share_row *share_comparison_most(const struct share_comparison *comparison,
					      const struct share_row *of, enum share_level level);

/* The row of the state that a row is about; NULL: there is none. */
const struct share_row *share_comparison_state(const struct share_comparison *comparison,
					       const struct share_row *of);

/* How many threads of the program there were, in the mean. */
double share_program_threads(const struct share_comparison *comparison, uint32_t program, int side);

#endif
