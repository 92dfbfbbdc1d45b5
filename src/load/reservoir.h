/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fair sample of a stream of unknown length: Algorithm R (Vitter, Random sampling with a
 * reservoir, ACM TOMS 11(1), 1985). Each of the n values seen is kept with probability size/n.
 */
#ifndef DWELL_LOAD_RESERVOIR_H
#define DWELL_LOAD_RESERVOIR_H

#include <stdint.h>

#include "base/random.h"

#define RESERVOIR_SIZE 100000

struct reservoir {
	uint64_t total;	   /* values seen */
	uint64_t *samples; /* not owned */
	uint64_t room;	   /* of them: RESERVOIR_SIZE, or less */
};

static inline void reservoir_add(struct reservoir *reservoir, uint64_t value, uint64_t *random)
{
	uint64_t at = reservoir->total++;

	if (at >= reservoir->room) {
		at = random_next(random) % reservoir->total;
		if (at >= reservoir->room)
			return;
	}
	reservoir->samples[at] = value;
}

static inline uint64_t reservoir_kept(uint64_t total, uint64_t room)
{
	return total < room ? total : room;
}

#endif
