/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a load in a guest makes of its failure: `dwell guest --keep-trace`. */
#ifndef DWELL_COMMAND_GUEST_TRACE_H
#define DWELL_COMMAND_GUEST_TRACE_H

#include <sys/stat.h>

#include "command/guest_options.h"

struct guest_trace {
	const char *path;   /* NULL: none is asked for */
	char chosen[32];    /* a name that was not asked for */
	char **command;	    /* with the option that asks for it; the array alone is owned */
	struct stat before; /* the file, of an earlier guest */
	bool was_there;
};

/* Of a load, where the options ask for it or a scheduler is under test. -ENOMEM. */
int guest_trace_choose(struct guest_trace *trace, const struct guest_options *options,
		       const char *time) must_check;

/* Whether the file came back. */
bool guest_trace_is_there(const struct guest_trace *trace);

void guest_trace_release(struct guest_trace *trace);

#endif
