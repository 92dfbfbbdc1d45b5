/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sets of runs of `dwell load`, group by group: what got worse, what better. Pure computation
 * on what was read from reports.
 *
 * A metric changed if its mean moved by both of its gates (load/metrics.h) and, where both sides
 * have several runs, if the sides are separated besides: Welch's p below 0.05, or ranges without
 * a common point. A baseline of zero is infinitely far from everything else.
 */
#ifndef DWELL_LOAD_COMPARE_H
#define DWELL_LOAD_COMPARE_H

#include "load/metrics.h"
#include "statistics/welch.h"

/* Something about a run or a group that is no metric: "kernel" is "6.12". */
struct load_fact {
	char *what, *value;
};

/* Each once. All zeros is empty. */
struct load_facts {
	struct load_fact *items;
	size_t count, room;
};

/* Copies both. 0 or -ENOMEM. */
int load_facts_add(struct load_facts *facts, const char *what, const char *value) must_check;

/*
 * The next `what` of which `a` and `b` know different values, from *position on (0 at first); NULL:
 * no more. What only one of them has is left out.
 */
const char *load_facts_differing(const struct load_facts *a, const struct load_facts *b,
				 size_t *position);

/* What makes two groups the same one. */
struct load_group_key {
	const char *cgroup; /* "": none */
	unsigned int group_idx;
	const char *work;
	unsigned int occurrence; /* of these in its run: a group may be stopped and started again */
};

struct load_group {
	struct load_group_key key; /* owns the strings */
	struct load_facts facts;
	enum load_wakes wakes; /* of all its runs that have any */
	bool wakes_mixed;      /* of some runs these, of some those */
	double *values[LOAD_METRICS];
	size_t runs, room; /* values of each metric */
	double seconds;	   /* its workers lived, in the mean of the runs where that is known */
	size_t seconds_known;
};

/* Runs left out, by why. */
struct load_left_out {
	unsigned int unended;	/* did not come to their end */
	unsigned int lacking;	/* not all workers reported */
	unsigned int unwritten; /* a directory without a report */
};

/* All zeros is empty. */
struct load_side {
	unsigned int runs;   /* compared */
	unsigned int failed; /* of them, by their own checks */
	struct load_left_out left_out;
	struct load_facts facts;
	struct load_group *groups;
	size_t group_count, group_room;
};

/* One run of a group. Copies the key; NULL: out of memory. */
struct load_group *load_side_add(struct load_side *side, const struct load_group_key *key,
				 const struct load_totals *totals);
void load_side_release(struct load_side *side);

enum load_verdict {
	LOAD_UNKNOWN, /* not measured in both */
	LOAD_SAME,
	LOAD_BETTER,
	LOAD_WORSE,
	LOAD_VERDICTS,
};

/* One metric of one group. */
struct load_change {
	struct welch_set a, b;
	double delta;	       /* of the means; NAN: not measured in both */
	double relative;       /* delta / |a|; INFINITY (signed) from 0 to something */
	double p;	       /* NAN: unknown */
	bool disjoint;	       /* ranges of two or more values each */
	struct load_gate gate; /* it was judged by */
	enum load_verdict verdict;
};

void load_change_make(struct load_change *change, const double *a, size_t a_count, const double *b,
		      size_t b_count, bool higher_is_better, const struct load_gate *gate);

struct load_compared {
	const struct load_group *a, *b; /* NULL: that side does not have it */
	/* both have wakeups, but not by the same samples: those metrics are LOAD_UNKNOWN, empty */
	bool wakes_differ;
	struct load_change changes[LOAD_METRICS]; /* if both have it */
};

struct load_comparison {
	const struct load_side *a, *b;
	struct load_gate gates[LOAD_METRICS];
	struct load_compared *groups; /* those of a in their order, then those of b alone */
	size_t count;
	/* metrics of all groups; LOAD_UNKNOWN: known of one side only */
	size_t verdicts[LOAD_VERDICTS];
};

/* The sides must outlive it. 0 or -ENOMEM. */
int load_compare(struct load_comparison *comparison, const struct load_side *a,
		 const struct load_side *b, const struct load_gate gates[LOAD_METRICS]) must_check;
void load_comparison_release(struct load_comparison *comparison);

/* For people: "front pipe-io #1"; the number only where groups differ in nothing else. */
void load_compared_title(char *into, size_t room, const struct load_comparison *comparison,
			 const struct load_compared *compared);

/* Of several runs each side: chance has a say. */
static inline bool load_comparison_repeated(const struct load_comparison *comparison)
{
	return comparison->a->runs > 1 && comparison->b->runs > 1;
}

#endif
