/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fair sample of a stream of unknown length: Algorithm R (Vitter, Random sampling with a
 * reservoir, ACM TOMS 11(1), 1985). Each of the n values seen is kept with probability size/n.
 */
#ifndef DWELL_LOAD_RESERVOIR_H
#define DWELL_LOAD_RESERVOIR_H

#include <stdint.h>

#define RESERVOIR_SIZE 100000

struct reservoir {
	uint64_t total;	   /* values seen */
	uint64_t *samples; /* room for RESERVOIR_SIZE; not owned */
};

/* xorshift64 (Marsaglia, Xorshift RNGs, 2003): 13, 7, 17. The state is never 0. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* A state for the nth of several independent streams: splitmix64's finaliser (Steele et al. 2014).
 */
static inline uint64_t random_seed(uint64_t seed, uint64_t stream)
{
	uint64_t x = seed + (stream + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return x ? x : 1;
}

static inline void reservoir_add(struct reservoir *reservoir, uint64_t value, uint64_t *random)
{
	uint64_t at = reservoir->total++;

	if (at >= RESERVOIR_SIZE) {
		at = random_next(random) % reservoir->total;
		if (at >= RESERVOIR_SIZE)
			return;
	}
	reservoir->samples[at] = value;
}

static inline uint64_t reservoir_kept(uint64_t total)
{
	return total < RESERVOIR_SIZE ? total : RESERVOIR_SIZE;
}

#endif
