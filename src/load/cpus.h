/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs, or of NUMA nodes, as the kernel writes them: "0-3,8". */
#ifndef DWELL_LOAD_CPUS_H
#define DWELL_LOAD_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* x86 kernels are built for 8,192 at most, others for fewer. */
#define CPUS_MAX  8192
#define CPUS_TEXT 256 /* room for what cpus_format() writes */

/* All zeros is empty. The layout of the bits is that of sched_setaffinity(2) on a 64-bit machine.
 */
struct cpus {
	uint64_t bits[CPUS_MAX / 64];
};

static inline void cpus_add(struct cpus *cpus, unsigned int cpu)
{
	cpus->bits[cpu / 64] |= 1ULL << (cpu % 64);
}

static inline bool cpus_has(const struct cpus *cpus, unsigned int cpu)
{
	return cpu < CPUS_MAX && cpus->bits[cpu / 64] >> (cpu % 64) & 1;
}

unsigned int cpus_count(const struct cpus *cpus);
bool cpus_contain(const struct cpus *cpus, const struct cpus *others);
void cpus_intersect(struct cpus *cpus, const struct cpus *others);
void cpus_unite(struct cpus *cpus, const struct cpus *others);

/* The first one from `from` on; CPUS_MAX: there is none. */
unsigned int cpus_next(const struct cpus *cpus, unsigned int from);

/* The nth, counted from 0; CPUS_MAX: there are fewer. */
unsigned int cpus_nth(const struct cpus *cpus, unsigned int n);

/* "0-3,8"; blanks and a final newline are allowed, as is nothing at all. */
int cpus_parse(const char *text, struct cpus *ret_cpus, struct error *error) must_check;

/* Shortened with "..." if there is no room. */
void cpus_format(char *into, size_t room, const struct cpus *cpus);

#endif
