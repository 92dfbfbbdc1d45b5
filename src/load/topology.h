/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs this machine has for us, and what they share; and sets of them by description. */
#ifndef DWELL_LOAD_TOPOLOGY_H
#define DWELL_LOAD_TOPOLOGY_H

#include "load/cpus.h"

/* A cache, a NUMA node or a core: its number and its CPUs, usable or not. */
struct topology_part {
	unsigned int id;
	struct cpus cpus;
};

struct topology_parts {
	struct topology_part *items; /* by their first CPU */
	size_t count, room;
};

struct topology {
	struct cpus usable;	    /* online, and allowed to this process */
	struct topology_parts llcs; /* last-level caches; without any, one of all CPUs */
	struct topology_parts nodes;
	struct topology_parts cores; /* CPUs that are threads of one core */
};

#define cleanup_topology cleanup(topology_release)

/*
 * From `sysfs` (/sys) and sched_getaffinity(2), or with `allowed` from that. What a machine does
 * not say is assumed to be simple: one node, one cache, cores of one thread.
 */
int topology_read(struct topology *topology, const char *sysfs, const struct cpus *allowed,
		  struct error *error) must_check;
void topology_release(struct topology *topology);

/*
 * The usable CPUs that `text` describes:
 *
 *   0-3,8            a list; all must be usable
 *   llc:N  numa:N    those of the Nth last-level cache, of NUMA node N
 *   A-B              with a point in it: a share, 0.0-0.5 the first half
 *   disjoint:I/N     part I (from 0) of N parts of equal size; the last takes the rest
 *   overlap:I/N:F    the same, larger by F (0 to 1) of a part at each side that has a neighbour
 *
 * Never empty: -EINVAL with the reason if it would be.
 */
int topology_cpus(const struct topology *topology, const char *text, struct cpus *ret_cpus,
		  struct error *error) must_check;

#endif
