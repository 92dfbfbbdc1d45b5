/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two stacks of one thread, function by function: which callers they have in common, and how far
 * each goes on from there.
 */
#ifndef DWELL_CAPTURE_SPAN_WAYS_H
#define DWELL_CAPTURE_SPAN_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/span_stacks.h"

#define SPAN_WAY_FUNCTIONS (STACK_FRAMES_MAX > PYTHON_FRAMES ? STACK_FRAMES_MAX : PYTHON_FRAMES)

/* What says which function each is, innermost first: span_stacks_function(). */
struct span_way {
	uint64_t functions[SPAN_WAY_FUNCTIONS];
	size_t count; /* 0: not known */
};

/* The functions of a whole stack, without the calls of a C library that end it. 0: none is known.
 */
void span_way_read(struct span_way *way, const struct span_stacks *stacks, uint32_t stack);

/* Those of Python alone, as the kernel side has read them: all, whatever else is known. */
void span_way_read_python(struct span_way *way, const struct span_stack *raw);

/* The same, and whose they are. */
struct span_calls {
	uint64_t functions[PYTHON_FRAMES];
	uint8_t ranks[PYTHON_FRAMES]; /* enum span_rank */
	size_t count;		      /* 0: not known */
};

/* Who calls whom: the program packages, and both the language's library. */
enum span_rank { SPAN_RANK_STANDARD, SPAN_RANK_PACKAGE, SPAN_RANK_PROGRAM };

void span_calls_read(struct span_calls *calls, const struct span_stacks *stacks, uint32_t stack);

/* Where two part. */
struct span_parting {
	size_t common;	      /* outermost functions of both, with that which calls both ways */
	size_t first, second; /* what each has besides */
};

struct span_parting span_ways_part(const struct span_way *first, const struct span_way *second);
struct span_parting span_calls_part(const struct span_calls *first,
				    const struct span_calls *second);

#endif
