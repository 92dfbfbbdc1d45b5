/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long others may take: longer where the machine has no CPU for them. */
#ifndef DWELL_BASE_PATIENCE_H
#define DWELL_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_MOST 20 /* times as long, at most */

/*
 * How many threads there are to a CPU that could use it now, 1 to PATIENCE_MOST: the fourth field
 * of /proc/loadavg (proc(5)) by the CPUs that are on. 1 where it cannot be read.
 */
double patience_factor(void);

/* The same of so many threads and CPUs; 1 where there are no CPUs to go by. */
double patience_scale(unsigned int runnable, long cpus);

/*
 * Whether what began at `began_ns` (CLOCK_MONOTONIC) has had its time, which was `limit_ns` on a
 * machine with a CPU for each. *factor is the largest factor that was met, 1 at first: a look that
 * finds the machine calm again does not end what it has delayed.
 */
bool patience_is_over(uint64_t began_ns, uint64_t limit_ns, double *factor);

#endif
