/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a row of dwell's is from what the thread knows of itself. Pure: no clock, no I/O.
 *
 * A thread reads its CPU time and its run-queue wait from the kernel and takes the rest of the wall
 * clock for waits. That leaves open what happened before its first reading and after the last one,
 * between the clocks of one reading, and in which of its phases time was stolen: within that dwell
 * is not wrong.
 */
#ifndef DWELL_VERIFY_JUDGE_H
#define DWELL_VERIFY_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/verdict.h"
#include "model/interval.h"
#include "model/reason.h"
#include "verify/meter.h"

/*
 * What is compared: user and kernel as one, in STATE_USER, for their split is the kernel's own;
 * stolen and interrupt time as one, in STATE_STOLEN. Where dwell does not recognize a wait it is no
 * error: STATE_UNKNOWN is not compared.
 */
static inline bool verify_compares(enum state state)
{
	return state != STATE_KERNEL && state != STATE_IRQ && state != STATE_UNKNOWN;
}

/* "cpu" for user and kernel; else the state's key. */
const char *verify_state_name(enum state state);

/* What truth does not know, ns. */
struct judge_open {
	uint64_t edges;	  /* before its first reading and after the last */
	uint64_t phases;  /* stolen within phases: missing from their waits */
	uint64_t wakeups; /* the run queue's clock against the tracepoint's, in each */
	uint64_t unknown; /* that dwell does not recognize */
	uint64_t readings;
};

struct judge_open judge_open_of(const struct truth *truth, const struct row *row,
				const struct interval *interval);

/*
 * In percent of `wall_ns`, beyond what is open; positive: more than the truth. NAN where neither
 * has any.
 */
double judge_error(enum state state, uint64_t measured, uint64_t truth,
		   const struct judge_open *open, uint64_t wall_ns);

struct thread_judgement {
	/*
	 * In percent of the wall time; positive: dwell has more. NAN where neither has any, where
	 * dwell does not measure it, and where nothing is compared.
	 */
	double errors[STATES];
	enum state worst;	/* of the errors; STATES: there is none */
	double open_percent;	/* what truth leaves open, at most */
	double unknown_percent; /* not recognized */
};

void judge_thread(struct thread_judgement *ret_judgement, const struct truth *truth,
		  const struct row *row, const struct interval *interval);

/*
 * The reason for which the thread spent most of its time in `state`, into REASON_BYTES; empty: none
 * is known.
 */
void judge_reason(char into[REASON_BYTES], const struct interval *interval, const struct row *row,
		  enum state state);

/* In how many rounds something was so, each counted once. */
struct rounds {
	unsigned int count, last;
};

static inline void rounds_add(struct rounds *rounds, unsigned int round)
{
	rounds->count += rounds->last != round;
	rounds->last = round;
}

/* One pattern, over its threads and all rounds. */
struct pattern_result {
	const char *name;
	const char *help; /* NULL: it is a call, and its name says it */
	enum state state; /* what it is about; STATES: not known before it has run */
	enum verdict verdict;
	unsigned int round;	    /* the present one, from 1; set by the caller */
	struct rounds wrong_rounds; /* a figure was wrong */
	bool unseen;		    /* dwell has no row of a thread, and lost nothing */
	unsigned int threads;	    /* judged, in all rounds */
	double error_percent;	    /* the largest, absolute */
	enum state worst;	    /* the state of that; STATES: there is none */
	double open_percent;
	double unknown_percent;
	bool wrong_state;		/* more than the limit in a state that it was not in */
	uint64_t truth_ns, measured_ns; /* of `state`, of the threads that are about it */
	char expected_reason[TRUTH_REASON_BYTES]; /* as fnmatch(3), FNM_EXTMATCH; empty: any */
	char seen_reason[REASON_BYTES];
	bool reason_judged, reason_wrong;
	bool blame_judged, blame_wrong;
	struct rounds blame_rounds; /* blame was judged */
	/* number, percentiles and maximum of its waits for a CPU */
	bool latency_judged, latency_wrong;
	double latency_error_percent;		   /* of the longest wait, against that wait */
	char why[TRUTH_TEXT_BYTES + REASON_BYTES]; /* it did not pass */
	/* In the rounds above, by the largest error, else the first. */
	char wrong[TRUTH_TEXT_BYTES + REASON_BYTES];
	double wrong_percent; /* 0: something else than a state's time is wrong */
};

/* Else its threads were not judged. */
static inline bool pattern_has_error(const struct pattern_result *result)
{
	return result->threads || result->error_percent > 0;
}

/*
 * Adds a thread, `row` as dwell measured it (NULL: not at all), in a round in which dwell lost
 * `lost` records and transitions. `ret_judgement` is of any use where the result is true: nothing
 * that truth leaves open, and no loss, explains what is wrong in it.
 */
bool judge_add(struct pattern_result *result, const struct truth *truth, const struct row *row,
	       const struct interval *interval, double limit_percent,
	       struct thread_judgement *ret_judgement);

/*
 * What a round of a pattern that judges itself comes to: of all rounds the worst verdict is kept,
 * with the first reason for it. `wrong`: a figure was, whatever the verdict makes of that.
 */
void judge_round(struct pattern_result *result, enum verdict verdict, bool wrong, const char *why);

/*
 * When all rounds are over: figures that were wrong each time were not wrong for what happened to
 * be lost, and those that were wrong once in three or more may have been by chance. Where a host
 * takes CPU time that it `hides`, so may those that were right in any round: what it took between
 * two looks at the clock is an error of neither.
 */
void judge_end(struct pattern_result *result, unsigned int rounds, bool hides);

#endif
