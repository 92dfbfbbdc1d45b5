/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers what is known by two numbers: (tid, start time) of a thread -> 0, 1, 2, … in order of
 * arrival, so that what belongs to it can be kept in arrays. A tid alone is reused by the kernel;
 * with the start it is not. For what has one number, a cgroup's id, the tid is 0.
 */
#ifndef DWELL_BASE_IDENTITIES_H
#define DWELL_BASE_IDENTITIES_H

#include <stdbool.h>
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
	size_t room; /* a power of two; what is kept per thread needs as much */
	/*
	 * Snapshots come sorted by tid, and then are searched as they are: a table of hashes is
	 * made for the first one that is not.
	 */
	bool is_hashed;
	uint32_t *slots; /* open addressing, twice `room`: number + 1, 0 = free; NULL: none yet */
};

/* IDENTITY_NONE: not there. */
size_t identities_find(const struct identities *identities, uint32_t tid, uint64_t start_ns);

/* The same, with a guess that costs nothing where it is right; *guess becomes what follows. */
static inline size_t identities_find_near(const struct identities *identities, size_t *guess,
					  uint32_t tid, uint64_t start_ns)
{
	size_t found = *guess;

	if (found >= identities->count || identities->items[found].tid != tid ||
	    identities->items[found].start_ns != start_ns)
		found = identities_find(identities, tid, start_ns);
	if (found != IDENTITY_NONE)
		*guess = found + 1;
	return found;
}

/* Its number, old or new; IDENTITY_NONE without memory. */
size_t identities_add(struct identities *identities, uint32_t tid, uint64_t start_ns) must_check;

/* Gives the number of one to another that has none. 0 or -ENOMEM. */
int identities_replace(struct identities *identities, size_t number, uint32_t tid,
		       uint64_t start_ns) must_check;

void identities_clear(struct identities *identities); /* keeps the memory */
void identities_release(struct identities *identities);

#endif
