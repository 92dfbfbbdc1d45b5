/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The smaller and the larger one of two numbers. */
#ifndef DWELL_BASE_LEAST_H
#define DWELL_BASE_LEAST_H

#include <stdint.h>

static inline uint64_t least(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static inline uint64_t most(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

#endif
