/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much the probes of polls may cost their target. Each costs a trap, about a microsecond a
 * poll: nothing for most programs, a quarter of the CPU time of one that polls a million times a
 * second. While that is within the budget the probes stay attached, and every poll is seen. Above
 * it they are attached for a part of the time, in windows of some milliseconds at random times; in
 * between, waits are seen all the same, and where samples show that a worker seems to be in one
 * poll for long, a breakpoint on its stack makes it certain (bpf/span_unprobed.bpf.h).
 *
 * A thread of its own does that: a stall may be over in some milliseconds.
 */
#ifndef DWELL_CAPTURE_PROBE_BUDGET_H
#define DWELL_CAPTURE_PROBE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct span_probes;
struct probe_budget;

/* Since it was started. */
struct probe_use {
	uint64_t observed_ns;
	uint64_t probed_ns; /* of it, with the probes attached */
	uint64_t polls;	    /* then */
	uint64_t cost_ns;   /* CPU time that the probes took of the target; 0: not measured yet */
	uint64_t cpu_ns;    /* of the target, with that */
};

/*
 * The probes are attached, and must outlive it; `share` of the target's CPU time is what all of
 * dwell may cost it; 1: anything, so they stay attached. NULL: it cannot be done here (Linux
 * before 6.10; no thread): then the probes stay attached, whatever they cost.
 */
struct probe_budget *probe_budget_start(struct span_probes *probes, double share);

/* For NULL: all zeros. */
struct probe_use probe_budget_use(struct probe_budget *budget);

/* What of the probes is attached then stays. NULL does nothing. */
void probe_budget_stop(struct probe_budget *budget);

#endif
