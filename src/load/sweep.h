/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One number of a spec at several values, what was measured at each, and where the curves of that
 * bend: `dwell load --sweep`.
 *
 * All steps are run once in a round, in an order drawn by lot, so that what goes on meanwhile on
 * the machine (it warms up, another program begins) does not bend the curve.
 */
#ifndef DWELL_LOAD_SWEEP_H
#define DWELL_LOAD_SWEEP_H

#include "load/side.h"
#include "load/spec_set.h"
#include "statistics/knee.h"

#define SWEEP_STEPS_DEFAULT  10
#define SWEEP_STEPS_MAX	     100
#define SWEEP_ROUNDS_DEFAULT 3
#define SWEEP_ROUNDS_MAX     100
#define SWEEP_ROUNDS_LEAST   3 /* fewer do not show what is chance */
#define SWEEP_TEXT_BYTES     32

struct sweep_step {
	double value;		     /* a number, ns, bytes or a share (0 to 1) */
	char text[SWEEP_TEXT_BYTES]; /* the same, as a spec takes it */
	struct load_side side;	     /* its runs */
	unsigned int voided;	     /* runs that did not come to their end */
};

enum sweep_answer {
	SWEEP_NOTHING, /* not measured at enough steps */
	SWEEP_KNEE,
	SWEEP_NO_KNEE,
	SWEEP_UNDECIDED,
};

/* A metric of a group along the steps. */
struct sweep_curve {
	struct load_group_key key; /* of a group that a step's side owns */
	enum load_metric metric;
	enum sweep_answer answer;
	bool falls;	  /* lower at the end: its knee is where it begins to fall */
	struct knee knee; /* by the numbers of steps */
	/* behind the knee, others had more of the CPUs' time, by so large a share; 0: not so */
	double disturbed;
	/* it is undecided because others had much of the CPUs: the largest share at a step; 0 */
	double crowded;
};

struct sweep {
	char name[SPEC_NAME_BYTES * 2]; /* of what is varied */
	enum param_kind kind;
	bool has_background; /* it is the load of a group that the spec does not have itself */
	struct sweep_step *steps;
	size_t count;
	size_t asked;	   /* for so many; 0: for none in particular */
	unsigned int cpus; /* that this process may use */
	struct sweep_curve *curves;
	size_t curve_count;
};

/*
 * "load=10..95%" or "workers=1..8:4": the name, from and to, and the number of steps. A bound
 * without a unit has that of the other one. -EINVAL with the mistake; what the machine does not
 * have is not found here.
 */
int sweep_parse(struct sweep *sweep, const char *text, const struct spec *spec,
		struct error *error) must_check;
void sweep_release(struct sweep *sweep);

/* The steps of a round, each once, drawn by lot. `order` has room for them. */
void sweep_order(const struct sweep *sweep, uint64_t seed, unsigned int round, size_t *order);

/*
 * The curves of `metrics` (1 << each) of all groups but the background, from what was measured so
 * far. 0 or -ENOMEM.
 */
int sweep_judge(struct sweep *sweep, uint32_t metrics, uint64_t seed) must_check;

/* The median of a step's runs; NAN: not measured. `key` NULL: of all groups together. */
double sweep_median(const struct sweep_step *step, const struct load_group_key *key,
		    enum load_metric metric);

/* What the workers had of the CPUs: a median; NAN. */
double sweep_achieved(const struct sweep *sweep, const struct sweep_step *step);

/* Among steps of one sweep: "70%", "5 workers". */
void sweep_format(char *into, size_t room, const struct sweep *sweep, size_t step);

bool sweep_is_background(const struct sweep *sweep, const struct load_group_key *key);

#endif
