/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler counts of a thread: Documentation/scheduler/sched-stats.rst in Linux. */
#ifndef DWELL_BASE_SCHEDSTAT_H
#define DWELL_BASE_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct schedstat {
	uint64_t cpu_ns;
	uint64_t delay_ns; /* waiting for a CPU */
	uint64_t count;	   /* how often it got one */
};

/* Of the calling thread: a descriptor, or a negative errno. */
int schedstat_open(void);

/* Of any thread. False: as schedstat_read(), or it is gone. */
bool schedstat_of(pid_t tid, struct schedstat *ret_schedstat);

struct children_schedstat {
	struct schedstat sum;
	bool any_ready; /* to run, or running */
};

/*
 * Of all children of a process, which have one thread each, as it has. Zeros: not known
 * (CONFIG_PROC_CHILDREN, CONFIG_SCHED_INFO).
 */
struct children_schedstat schedstat_of_children(pid_t pid);

/* False: it cannot be read, or the kernel counts nothing (CONFIG_SCHED_INFO). */
bool schedstat_read(int fd, struct schedstat *ret_schedstat);

#endif
