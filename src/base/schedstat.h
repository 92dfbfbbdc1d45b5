/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler counts of a thread: Documentation/scheduler/sched-stats.rst in Linux. */
#ifndef DWELL_BASE_SCHEDSTAT_H
#define DWELL_BASE_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>

struct schedstat {
	uint64_t cpu_ns;
	uint64_t delay_ns; /* waiting for a CPU */
	uint64_t count;	   /* how often it got one */
};

/* Of the calling thread: a descriptor, or a negative errno. */
int schedstat_open(void);

/* False: it cannot be read, or the kernel counts nothing (CONFIG_SCHED_INFO). */
bool schedstat_read(int fd, struct schedstat *ret_schedstat);

#endif
