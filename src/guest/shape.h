/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs of a guest: "2n4l2c1t", NUMA nodes, last-level caches in all, cores of each, threads of
 * each. */
#ifndef DWELL_GUEST_SHAPE_H
#define DWELL_GUEST_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define SHAPE_CPUS_MAX 255 /* without an interrupt remapper, which QEMU's default machine lacks */

struct shape {
	unsigned int nodes, llcs, cores, threads;
};

/* All four parts, or the name of a preset (presets.h); nodes must divide caches. */
int shape_parse(const char *text, struct shape *ret_shape, struct error *error) must_check;

static inline unsigned int shape_cpus(const struct shape *shape)
{
	return shape->llcs * shape->cores * shape->threads;
}

/* What a kernel wants for that many CPUs, with room for a command; 64 MiB for each. */
static inline uint64_t shape_memory(const struct shape *shape)
{
	return shape_cpus(shape) * (64ULL << 20);
}

/* As shape_parse() reads it; 24 bytes are enough. */
void shape_format(char *into, size_t room, const struct shape *shape);

/* For -smp. Each cache is a socket: QEMU gives every socket a last-level cache of its own. */
void shape_smp(char *into, size_t room, const struct shape *shape);

#endif
