/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seconds in which a run failed: switches and wakeups of the whole machine are kept in a ring,
 * which stands still from the first failure on. Used by run.c and the watchdog.
 */
#ifndef DWELL_LOAD_RUN_TRACE_H
#define DWELL_LOAD_RUN_TRACE_H

#include "load/run.h"

#define RUN_TRACE_NS 1000000000ULL /* before what has no beginning of its own, as a death */

/* Where the options ask for it; what the kernel refuses is reported, and the run goes on without.
 */
void run_trace_open(struct run *run);

/* Keeps what has been since `from_ns`, CLOCK_MONOTONIC. Only the first time counts. */
__attribute__((format(printf, 3, 4))) void run_trace_freeze(struct run *run, uint64_t from_ns,
							    const char *format, ...);

#endif
