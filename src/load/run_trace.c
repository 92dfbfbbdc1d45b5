// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/run_trace.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "load/run_ops.h"

void run_trace_open(struct run *run)
{
	const char *why;

	if (!run->options->trace)
		return;
	if (run->guarded)
		run->guarded->traced = true;
	why = switch_ring_open(&run->trace.ring);
	if (why)
		run_warn(run, "no trace of a failure can be kept: %s", why);
}

void run_trace_freeze(struct run *run, uint64_t from_ns, const char *format, ...)
{
	struct run_trace *trace = &run->trace;
	va_list args;

	if (!trace->ring || trace->until_ns)
		return;
	switch_ring_freeze(trace->ring);
	trace->until_ns = clock_monotonic_ns();
	trace->from_ns = from_ns > run->started_ns ? from_ns : run->started_ns;
	va_start(args, format);
	vsnprintf(trace->what, sizeof(trace->what), format, args);
	va_end(args);
}
