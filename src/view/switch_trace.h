/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads did around a failure of a load, as a trace for Perfetto. */
#ifndef DWELL_VIEW_SWITCH_TRACE_H
#define DWELL_VIEW_SWITCH_TRACE_H

#include "base/output.h"
#include "load/run.h"
#include "scheduler/switch_ring.h"

struct switch_trace {
	const struct run *run; /* whose workers have names */
	const struct switches *switches;
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC */
	const char *what;	    /* happened at its end */
};

/*
 * Each CPU with the threads that ran on it, each worker and each other thread with when it ran and
 * when it could have. Times are those of the report, since the start of the run. 0 or -ENOMEM.
 */
int switch_trace_write(struct output *out, const struct switch_trace *trace) must_check;

#endif
