/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From where a process waits for events: the functions of its event loops, and the stacks of
 * those waits.
 *
 * Not each of them is a loop's: a library that a program without one has called waits like that
 * for an answer (curl_easy_perform(), Python's subprocess.run()). What the program does between two
 * such calls holds up no one. Some are known by their names. In Python it is seen whose functions
 * are on the way: where the program also does other things in a function that waits by a package's
 * or the standard library's functions, two at least, the loop is none. A library's loop calls the
 * program's handlers from within.
 */
#ifndef DWELL_CAPTURE_SPAN_LOOPS_H
#define DWELL_CAPTURE_SPAN_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/span_ways.h"

#define LOOP_FUNCTIONS	  64
#define LOOP_WAITS	  512
#define LOOP_WAITS_OF_ONE 2 /* thread */

/* All zeros is empty. */
struct span_loops {
	struct loop_function {
		uint64_t hash, file; /* file: the kernel's, which it waits for; 0: not known */
		uint32_t tid;
		bool is_shared; /* another thread waits there, or for that file, too */
	} functions[LOOP_FUNCTIONS];
	size_t count;
	struct loop_wait {
		uint64_t number; /* 0: free */
		uint32_t tid;
		bool is_answer; /* what it calls waits for one, by its name */
		bool inside;	/* the thread has also been seen in what may be a handler */
		/* so many outermost functions have been seen to be around what waits, and no loop
		 */
		size_t outer;
		struct span_calls calls;
	} waits[LOOP_WAITS]; /* the last ones of each thread */
	uint64_t waits_noted;
};

/* `tid` waits for events with these functions on its stack. */
void span_loops_note(struct span_loops *loops, const struct span_signs *signs, uint32_t tid,
		     uint64_t file);

/* The stack of a thread that waits for events as one with a loop. */
void span_loops_note_wait(struct span_loops *loops, const struct span_calls *calls, uint32_t tid,
			  bool is_answer);

/*
 * Whether what a thread does with this stack is outside of its loop, by where it has waited for
 * events: false, too, where that is not known. `is_named`: the name of a loop's function has been
 * on its stack.
 */
bool span_loops_is_outside(struct span_loops *loops, const struct span_calls *calls, uint32_t tid,
			   bool is_named);

/* Whether all that it has waited for was an answer, as far as is known. */
bool span_loops_is_asking(const struct span_loops *loops, uint32_t tid);

/*
 * Whether a thread that waits on a condition in that function, with these signs, waits for its turn
 * at a loop. False for NULL.
 */
bool span_loops_takes_turns(const struct loop_function *loop, const struct span_signs *signs);

/* That of the innermost function; NULL: it does not wait for events. */
const struct loop_function *span_loops_find(const struct span_loops *loops,
					    const struct span_signs *signs);

#endif
