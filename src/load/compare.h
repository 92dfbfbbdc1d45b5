/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sets of runs of `dwell load`, group by group: what got worse, what better, and by how much.
 * Pure computation on what was read from reports.
 *
 * A metric has changed if that is more than chance, corrected for all metrics of all groups
 * (statistics/step_down.h), and the estimated change reaches both of its gates (load/metrics.h). It
 * is the same if the whole interval of what the change may be (statistics/shift.h) lies within
 * them. Else it is undecided. Runs that took turns are compared in pairs: what the machine did
 * meanwhile met both.
 */
#ifndef DWELL_LOAD_COMPARE_H
#define DWELL_LOAD_COMPARE_H

#include <stdint.h>

#include "load/side.h"
#include "statistics/welch.h"

enum load_verdict {
	LOAD_UNKNOWN, /* not measured in both */
	LOAD_SAME,
	LOAD_BETTER,
	LOAD_WORSE,
	LOAD_UNDECIDED,
	LOAD_VERDICTS,
};

/* What is asked of a comparison. */
struct load_question {
	struct load_gate gates[LOAD_METRICS];
	uint32_t metrics;  /* 1 << each that is judged */
	uint32_t decisive; /* of these: it is open while one is undecided */
	double alpha;	   /* probability of a wrong answer that is accepted */
	bool by_turns;	   /* the runs are known to be pairs, also where there is but one */
};

#define LOAD_ALPHA 0.05

/* All metrics are judged; throughput, wakeups and waits for a CPU are decisive. */
void load_question_init(struct load_question *question);

/*
 * "iterations,wake-p99" or "all": these are judged, and decisive. -EINVAL if a name is not one.
 */
int load_question_choose(struct load_question *question, const char *names,
			 struct error *error) must_check;

/* One metric of one group. */
struct load_change {
	struct welch_set a, b;
	double medians[2]; /* of a and b: what a run that was disturbed does not move */
	/* of B against A, as a share of A: NAN where it is not measured in both */
	double relative;  /* estimated; INFINITY (signed) from 0 to something */
	double low, high; /* between these, but for a probability of alpha; infinite: of too few */
	double p;	  /* that it would be chance, corrected; NAN: unknown */
	struct load_gate gate; /* it was judged by */
	/* undecided: runs a side, or pairs, that show a change of its gate; 0: not known */
	unsigned int wanted;
	enum load_verdict verdict;
};

struct load_compared {
	const struct load_group *a, *b; /* NULL: that side does not have it */
	/* both have wakeups, but not by the same samples: those metrics are LOAD_UNKNOWN, empty */
	bool wakes_differ;
	struct load_change changes[LOAD_METRICS]; /* if both have it */
};

enum load_answer {
	LOAD_NOTHING,	/* no metric in common */
	LOAD_EQUAL,	/* within the gates: every decisive metric */
	LOAD_DIFFERENT, /* a metric is better or worse */
	LOAD_OPEN,	/* a decisive one may be */
};

struct load_comparison {
	const struct load_side *a, *b;
	struct load_question question;
	bool paired;
	struct load_compared *groups; /* those of a in their order, then those of b alone */
	size_t count;
	/* metrics of all groups; LOAD_UNKNOWN: known of one side only */
	size_t verdicts[LOAD_VERDICTS];
	enum load_answer answer;
	unsigned int wanted; /* the largest of the decisive metrics; 0: not known */
};

/* The sides must outlive it. 0 or -ENOMEM. */
int load_compare(struct load_comparison *comparison, const struct load_side *a,
		 const struct load_side *b, const struct load_question *question) must_check;
void load_comparison_release(struct load_comparison *comparison);

/* Whether a metric of both is among those that have to be decided. */
bool load_comparison_needs(const struct load_comparison *comparison, enum load_metric metric);

/* For people: "front pipe-io #1"; the number only where groups differ in nothing else. */
void load_compared_title(char *into, size_t room, const struct load_comparison *comparison,
			 const struct load_compared *compared);

/*
 * The fewest runs a side, or pairs, of which any difference is shown with the confidence that
 * `alpha` leaves.
 */
unsigned int load_runs_least(double alpha, bool paired);

#endif
