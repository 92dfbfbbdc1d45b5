/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kind of work: one file in load/work/ that ends in a `const struct work_type`, and one line in
 * the table of work_type.c. docs/work-types.md describes how to write one.
 *
 * Workers come in teams of type->team_size(): pairs, a messenger and its receivers, a chain. The
 * members share type->shared_bytes() of memory and, if the type wants them, pipes in a ring: each
 * member writes to the next one, and the last one to the first. Or one eventfd: as the members are
 * processes, descriptors must be there before they are forked.
 */
#ifndef DWELL_LOAD_WORK_TYPE_H
#define DWELL_LOAD_WORK_TYPE_H

#include "load/params.h"
#include "load/worker.h"

enum work_flags {
	WORK_FORKS = 1, /* makes processes of its own: not for `mode: thread` */
	WORK_PIPES = 2,
	WORK_FILE = 4,	     /* writes files of its own into the run's directory */
	WORK_BYPASS = 8,     /* custom, exec: has no loop of ours, and is not watched */
	WORK_REALTIME = 16,  /* asks for a real-time policy: says so when it is refused */
	WORK_MESSENGER = 32, /* the first only wake the others: is_messenger in the report */
	WORK_EVENTFD = 64,   /* one for each team */
	WORK_CGROUPS = 128,  /* works on its cgroup: without one, it gets the run's */
	WORK_WAITS = 256,    /* takes samples of waits, whatever its parameters */
};

struct work_type {
	const char *name; /* kebab-case */
	const char *summary;
	const struct param *params; /* NULL: none */
	size_t params_bytes;	    /* of their structure */
	unsigned int flags;
	/* Workers of a team, where that depends on parameters, which are within their limits. */
	unsigned int (*team_size)(const void *params);
	unsigned int team; /* where it does not; 0: 1 */
	/* Of WORK_MESSENGER, how many of a team are. NULL: one. */
	unsigned int (*messengers)(const void *params);
	/* Bytes that a team shares, by parameters or always. */
	size_t (*shared_bytes)(const void *params);
	size_t shared;
	/* What the limits of single parameters do not say; NULL: nothing. Runs no code of the
	 * user's. */
	int (*check)(const void *params, struct error *error);
	/* Gets code of the user's, which may do anything: before anything is forked, but not when
	 * only the plan is wanted. NULL: there is none. */
	int (*load)(const void *params, struct error *error);
	/*
	 * Units that one iteration counts, so how often the clock is looked at: the same for all,
	 * or by parameters and the worker's `position` in its team; both 0 if it varies.
	 */
	uint64_t units_each;
	uint64_t (*units)(const void *params, unsigned int position);
	/* In the worker, before its clock starts: 0, or a negative errno after worker_fail(). */
	int (*begin)(struct worker *worker);
	void (*iterate)(struct worker *worker);
	void (*end)(struct worker *worker); /* after its clock was stopped; NULL: nothing */
};

/* Ends with NULL. */
extern const struct work_type *const work_types[];

/* Case, `-` and `_` do not matter. -EINVAL with a guess at what was meant. */
int work_type_find(const char *name, const struct work_type **ret_type,
		   struct error *error) must_check;

static inline unsigned int work_team_size(const struct work_type *type, const void *params)
{
	unsigned int team = type->team_size ? type->team_size(params) : type->team;

	return team ? team : 1;
}

static inline bool work_is_messenger(const struct work_type *type, const void *params,
				     unsigned int position)
{
	return type->flags & WORK_MESSENGER &&
	       position < (type->messengers ? type->messengers(params) : 1);
}

static inline size_t work_shared_bytes(const struct work_type *type, const void *params)
{
	return type->shared_bytes ? type->shared_bytes(params) : type->shared;
}

/* False: it varies, or the type does not say. */
static inline bool work_units(const struct work_type *type, const void *params,
			      unsigned int position, uint64_t *ret_units)
{
	*ret_units = type->units ? type->units(params, position) : type->units_each;
	return type->units || type->units_each;
}

/* In outer iterations: 1024 / gcd(units, 1024), since it is looked at when units % 1024 == 0. 0:
 * varies. */
unsigned int work_checkpoint_period(const struct work_type *type, const void *params,
				    unsigned int position);

#endif
