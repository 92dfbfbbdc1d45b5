/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences of cumulative counters of which some may have been corrected downwards. */
#ifndef DWELL_BASE_DIFFERENCES_H
#define DWELL_BASE_DIFFERENCES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sets those below zero (as two's complement) to zero and takes as much off the others, the first
 * ones first, so that the sum stays. Returns which were below zero, 1 << index; at most 64.
 */
uint64_t differences_settle(uint64_t *differences, size_t count);

#endif
