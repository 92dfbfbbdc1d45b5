/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the CPUs of the machine spent their time, as /proc/stat counts it. */
#ifndef DWELL_BASE_MACHINE_TIME_H
#define DWELL_BASE_MACHINE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Cumulative since boot, in steps of a tick of USER_HZ (10 ms). proc(5), "/proc/stat". */
struct machine_time {
	uint64_t busy_ns;   /* user, nice, system, irq, softirq, steal */
	uint64_t stolen_ns; /* steal; 0 also where the kernel has no steal clock */
};

#define MACHINE_TIME "/proc/stat"

/* What passed between two readings. False: a container's counters went back, nothing is known. */
static inline bool machine_time_since(struct machine_time *ret_passed,
				      const struct machine_time *before,
				      const struct machine_time *after)
{
	if (after->busy_ns < before->busy_ns || after->stolen_ns < before->stolen_ns)
		return false;
	ret_passed->busy_ns = after->busy_ns - before->busy_ns;
	ret_passed->stolen_ns = after->stolen_ns - before->stolen_ns;
	return true;
}

/* How much of the busy time the hypervisor took: 0 to 1. */
static inline double machine_stolen_share(uint64_t stolen_ns, uint64_t busy_ns)
{
	return busy_ns ? (double)stolen_ns / (double)busy_ns : 0;
}

/* `path`: MACHINE_TIME. 0, or a negative errno. */
int machine_time_read(struct machine_time *ret_time, const char *path) must_check;

/* The same of each CPU up to `count`, by its number; zeros for those that are off. */
int machine_time_read_cpus(struct machine_time *ret_times, unsigned int count,
			   const char *path) must_check;

#endif
