/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DWELL_SYMBOL_SPAN_MARKS_H
#define DWELL_SYMBOL_SPAN_MARKS_H

/*
 * How a runtime's functions are called, on the stacks of its threads. Each is part of a name; NULL:
 * it has none. `poll` is the beginning of what polls a task; `harness`, too, of what ends in
 * ::poll.
 */
struct span_marks {
	const char *poll, *harness; /* one often jumps to the other: then only that is there */
	const char *worker;	    /* of a worker thread's life, which is in a poll too */
	const char *single;	    /* of a scheduler without threads of its own */
	const char *pool;	    /* of the blocking pool */
	const char *root;	    /* of a thread that waits for a root future */
	const char *names[2];	    /* it gives to its threads, also to those of the pool */
};

#endif
