/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a run took place: what a comparison of two of them needs. */
#ifndef DWELL_LOAD_MACHINE_H
#define DWELL_LOAD_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "load/topology.h"

struct machine {
	char kernel[128]; /* release, as of uname(2) */
	char version[128];
	char architecture[32];
	char cpu_model[96]; /* "" = not known */
	char scheduler[64]; /* of sched_ext, before the first phase; "" = the kernel's own */
	char governor[32];  /* of CPU 0's frequency; "" = not known */
	unsigned int cpus;  /* usable */
	unsigned int cpus_online;
	unsigned int llcs, nodes, cores;
	uint64_t memory_bytes;
};

void machine_read(struct machine *machine, const struct topology *topology);

/* Pages that NUMA balancing has moved since boot. False: this kernel does not count them. */
bool machine_numa_migrated(uint64_t *ret_pages);

#endif
