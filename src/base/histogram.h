/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Percentiles from a log2 histogram: bucket i counts values in [2^i, 2^(i+1)), bucket 0 also 0, the
 * last one everything above.
 */
#ifndef DWELL_BASE_HISTOGRAM_H
#define DWELL_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

uint64_t histogram_count(const uint32_t *buckets, size_t size);

/*
 * The value at nearest rank ceil(q * n), placed evenly inside its bucket, so off by less than a
 * factor of two; never above `max`, the largest value, and exactly that where the last rank is
 * wanted, as of the 99th percentile of less than 100, and `max` is in that bucket. UINT64_MAX: it
 * is not known. 0 when nothing was counted. 0 < q <= 1.
 */
uint64_t histogram_percentile(const uint32_t *buckets, size_t size, double q, uint64_t max);

#endif
