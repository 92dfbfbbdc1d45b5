/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers what is known by two numbers: (tid, start time) of a thread -> 0, 1, 2, … in order of
 * arrival, so that what belongs to it can be kept in arrays. A tid alone is reused by the kernel;
 * with the start it is not. For what has one number, a cgroup's id, the tid is 0.
 */
#ifndef DWELL_BASE_IDENTITIES_H
#define DWELL_BASE_IDENTITIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define IDENTITY_NONE SIZE_MAX

struct identity {
	uint64_t start_ns;
	uint32_t tid;
};

/* All zeros is empty. */
struct identities {
	struct identity *items;
	size_t count;
	size_t room;	 /* a power of two; what is kept per thread needs as much */
	uint32_t *slots; /* open addressing, twice `room`: number + 1, 0 = free */
};

/* IDENTITY_NONE: not there. */
size_t identities_find(const struct identities *identities, uint32_t tid, uint64_t start_ns);

/* Its number, old or new; IDENTITY_NONE without memory. */
size_t identities_add(struct identities *identities, uint32_t tid, uint64_t start_ns) must_check;

void identities_clear(struct identities *identities); /* keeps the memory */
void identities_release(struct identities *identities);

#endif
