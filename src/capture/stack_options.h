/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How stacks are unwound and named, whosever they are. */
#ifndef DWELL_CAPTURE_STACK_OPTIONS_H
#define DWELL_CAPTURE_STACK_OPTIONS_H

#include "symbol/span_marks.h"

enum stack_unwind {
	STACK_UNWIND_AUTO, /* by the unwind tables, and frame pointers where there are none */
	STACK_UNWIND_FRAME_POINTERS,
};

#define STACK_OWN_MAX	    16
#define STACK_LIBRARIES_MAX 8

struct stack_options {
	enum stack_unwind unwind;
	/* the runtime is in these, and not in the program; as the kernel prints their paths */
	const char *libraries[STACK_LIBRARIES_MAX];
	unsigned int library_count;
	const char *symbols; /* file with the program's symbols; NULL: its own */
	struct span_marks marks;
	const char *const *packages;	/* of all runtimes, ended by NULL */
	const char *own[STACK_OWN_MAX]; /* what is the user's own begins so: frame_kind_is_own() */
	unsigned int own_count;		/* 0: what is no one else's */
};

#endif
