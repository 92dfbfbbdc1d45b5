/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of `dwell load` on one side of a comparison: what was measured of each group in each. */
#ifndef DWELL_LOAD_SIDE_H
#define DWELL_LOAD_SIDE_H

#include "load/metrics.h"

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
	size_t *run_of;	   /* each value: number of its run in the side */
	size_t runs, room; /* values of each metric */
	double seconds;	   /* its workers lived, in the mean of the runs where that is known */
	size_t seconds_known;
};

/* When a run began: UTC, as RFC 3339 writes it, so that texts are in the order of the times. */
#define LOAD_STARTED_BYTES 40

/* Runs left out, by why. */
struct load_left_out {
	unsigned int unended;	/* did not come to their end */
	unsigned int lacking;	/* not all workers reported */
	unsigned int unwritten; /* a directory without a report */
	unsigned int unpaired;	/* not among those that are asked for */
};

/* When runs began. All zeros is empty. */
struct load_starts {
	char (*items)[LOAD_STARTED_BYTES];
	size_t count, room;
};

/* All zeros is empty. */
struct load_side {
	const struct load_starts *only;	     /* runs that are taken; NULL: all */
	unsigned int runs;		     /* compared */
	unsigned int failed;		     /* of them, by their own checks */
	char (*started)[LOAD_STARTED_BYTES]; /* of each; "" = not known */
	size_t started_room;
	double *taken; /* of each: what others and the hypervisor had of the CPUs; NAN: not known */
	size_t taken_room;
	struct load_left_out left_out;
	struct load_facts facts;
	struct load_group *groups;
	size_t group_count, group_room;
};

/* Whether a run that began then is to be taken: else it is counted as left out. */
bool load_side_wants(struct load_side *side, const char *started);

/*
 * Another run; NULL: it is not known when it began; NAN: nor what was taken of it. 0 or -ENOMEM.
 */
int load_side_begin_run(struct load_side *side, const char *started, double taken) must_check;

/* A group of the run that was begun last. Copies the key; NULL: out of memory. */
struct load_group *load_side_add(struct load_side *side, const struct load_group_key *key,
				 const struct load_totals *totals);

/* The same of values that are known already. `seconds`: its workers lived; NAN: not known. */
struct load_group *load_side_add_values(struct load_side *side, const struct load_group_key *key,
					const double values[LOAD_METRICS], double seconds,
					enum load_wakes wakes);
void load_side_release(struct load_side *side);

/* The median over its runs of what others and the hypervisor had of the CPUs; NAN: not known. */
double load_side_taken(const struct load_side *side);

/* NULL: the side does not have it. */
struct load_group *load_side_find(const struct load_side *side, const struct load_group_key *key);

#endif
