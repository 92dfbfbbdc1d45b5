/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What cgroups of version 2 leave this process of the machine, as a container's limits do. */
#ifndef DWELL_BASE_OWN_LIMITS_H
#define DWELL_BASE_OWN_LIMITS_H

#include <stdint.h>

struct own_limits {
	uint64_t memory_bytes; /* memory.max less memory.current; UINT64_MAX: no limit */
	unsigned int cpus;     /* of cpu.max, rounded up; UINT_MAX: no limit */
};

/* The smallest of all cgroups above; where nothing can be read, there is no limit. */
void own_limits_read(struct own_limits *ret_limits);

/* For how long cpu.max of these cgroups has kept threads from running so far; 0 also: not known. */
uint64_t own_throttled_ns(void);

/* Of the cgroup `path` of the tree that is mounted at `mount`. */
void own_limits_read_at(struct own_limits *ret_limits, const char *mount, const char *path);
uint64_t own_throttled_ns_at(const char *mount, const char *path);

#endif
