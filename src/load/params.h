/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Named values of a structure, described by a table: what a spec and a command line may set, what
 * --list explains, and what a report repeats, all from one list.
 */
#ifndef DWELL_LOAD_PARAMS_H
#define DWELL_LOAD_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"

enum param_kind {
	PARAM_COUNT,	/* uint64_t: a whole number */
	PARAM_DURATION, /* uint64_t: ns; "5ms" */
	PARAM_SIZE,	/* uint64_t: bytes; "32K" */
	PARAM_SHARE,	/* double: 0 to 1; "0.8" or "80%" */
	PARAM_CHOICE,	/* uint64_t: index of one of `choices` */
	PARAM_TEXT,	/* char *, owned; NULL: not given */
};

struct param {
	const char *name; /* NULL ends a table */
	enum param_kind kind;
	size_t offset;		    /* in the structure */
	const char *initial;	    /* as a person would write it; NULL: none, 0 */
	uint64_t min, max;	    /* of COUNT, DURATION (ns) and SIZE (bytes); max 0: no limit */
	const char *const *choices; /* ends with NULL */
	const char *help;
};

/* A line of a table for `structure`: PARAM(struct spin, iterations, COUNT, "1024", 1, 0, "…") */
#define PARAM(structure, member, kind_, initial_, min_, max_, help_)                               \
	{                                                                                          \
		.name = #member, .kind = PARAM_##kind_, .offset = offsetof(structure, member),     \
		.initial = initial_, .min = min_, .max = max_, .help = help_                       \
	}

/* Sets every value to its initial one: they are ours, and correct. 0 or -ENOMEM. */
int params_init(const struct param *params, void *values) must_check;
void params_release(const struct param *params, void *values);

/* Case, `-` and `_` do not matter. NULL: there is none. */
const struct param *params_find(const struct param *params, const char *name);

/* Reads `text` into its place. -EINVAL with what is wrong, and what would be right. */
int param_set(const struct param *param, void *values, const char *text,
	      struct error *error) must_check;

/* The value as param_set() would take it. */
void param_write(struct output *out, const struct param *param, const void *values);

#endif
