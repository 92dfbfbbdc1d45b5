/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that a seed repeats. */
#ifndef DWELL_BASE_RANDOM_H
#define DWELL_BASE_RANDOM_H

#include <stdint.h>

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

#endif
