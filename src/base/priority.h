/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that ends a run must get a CPU in time, however many workers want one, and even if
 * the sched_ext scheduler under test runs no thread at all: SCHED_FIFO, where that is permitted.
 * Processes that it forks are normal ones again.
 */
#ifndef DWELL_BASE_PRIORITY_H
#define DWELL_BASE_PRIORITY_H

#include <stdbool.h>

/*
 * False: not permitted, or the user has set a policy or a nice value, which the workers are to
 * inherit.
 */
bool priority_raise(void);

/*
 * For a program that watches others and has to be in time, but may use much CPU time: nice -20, for
 * the calling thread alone: what it starts has nice 0. Not where the user has set a policy or a
 * nice value, or where it is not permitted.
 */
void priority_prefer(void);

/* Back to normal, after priority_raise() returned true. */
void priority_restore(void);

#endif
