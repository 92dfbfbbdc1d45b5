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

/* Of this process and all that it forks, in front of normal ones. False: not permitted. */
bool priority_raise_all(void);

/*
 * In a process forked since, for what it does to be as usual: since Linux 6.12 timers of real-time
 * threads have no slack, and a child inherits that, whatever its policy
 * (kernel/sched/syscalls.c, __setscheduler_params()).
 */
void priority_forked(void);

/*
 * For a program that watches others and has to be in time, but may use much CPU time: nice -20, for
 * the calling thread alone: what it starts has nice 0. Not where the user has set a policy or a
 * nice value, or where it is not permitted.
 */
void priority_prefer(void);
/*
 * For a thread that runs for microseconds at a time, and then at once: before all threads that are
 * not in a hurry themselves. A wakeup alone does not take the CPU from one that computes, whatever
 * the nice values. False: not permitted, or the user has set a policy or a nice value.
 */
bool priority_hurry(void);

/*
 * After priority_prefer(), from time to time: nice -10, or -20 where that made it late, for as long
 * as many threads want a CPU. The balancer takes a thread of nice -20 for 87 others: the little
 * that it runs is enough for its CPU to be cleared of all, who then are in each other's way.
 */
void priority_adapt(bool is_late);

/* Back to normal, after priority_raise() returned true. */
void priority_restore(void);

#endif
