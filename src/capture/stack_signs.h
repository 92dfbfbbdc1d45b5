/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the functions of a stack say about its thread: whether it polls, and what it waits for. */
#ifndef DWELL_CAPTURE_STACK_SIGNS_H
#define DWELL_CAPTURE_STACK_SIGNS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/span_marks.h"
#include "symbol/symbolizer.h"

#define SPAN_FUNCTIONS 3

/* What the functions of a stack say about its thread: span_marks that were seen. */
struct span_signs {
	unsigned int polls, harnesses;		 /* of a poll at least one is there */
	unsigned int worker, single, pool, root; /* whether */
	unsigned int library;			 /* code of a library that the runtime is in */
	unsigned int complete; /* the stack: what is not among the signs is not there */
	unsigned int asks;     /* one that waits for an answer, or for a message of a queue */
	unsigned int loop;     /* loop_is_in(): in a turn of one, or where it waits */
	unsigned int jobs;     /* loop_is_of_pool(), and then it is in none */
	/* loop_waits_by(), of a function within the first that is none of a library's */
	unsigned int loop_waits;
	/* What the functions say a futex is for: SITE_LOCK or SITE_CONDITION, or 0 */
	unsigned int futex;
	/* hashes of the innermost functions that are no system library's; 0: there are no more */
	uint64_t functions[SPAN_FUNCTIONS];
};

/* What the functions at an address say about the thread. */
void signs_read(const struct span_marks *marks, const struct symbol *symbol,
		struct span_signs *signs);

/*
 * Of the function whose code is at an address, whatever was inlined there. Code made at run time is
 * an interpreter, or calls one, in which any two functions of a program meet: false, and those
 * outside say nothing.
 */
bool signs_note_function(const struct symbol *symbol, struct span_signs *signs);

/*
 * Of a stack that is about to wait, by its two innermost functions: whether it waits for one
 * descriptor, or a while.
 */
bool signs_read_wait(const struct symbol *innermost, const struct symbol *caller);

/*
 * Of what is called from outside of the system's libraries and the language's own, from inside out.
 * False: no more is needed.
 */
bool signs_read_call(const struct symbol *symbol, struct span_signs *signs);

/* As of the places of waits (capture/wait_places.h), from inside out. False: no more is needed. */
bool signs_read_futex(const struct symbol *symbol, struct span_signs *signs);

#endif
