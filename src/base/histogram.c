// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/histogram.h"

uint64_t histogram_count(const uint32_t *buckets, size_t size)
{
	uint64_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += buckets[i];
	return count;
}

uint64_t histogram_percentile(const uint32_t *buckets, size_t size, double q, uint64_t max)
{
	uint64_t count = histogram_count(buckets, size);
	double exact = q * (double)count;
	uint64_t rank = (uint64_t)exact;
	uint64_t before = 0;

	if ((double)rank < exact)
		rank++;
	for (size_t i = 0; rank && i < size; before += buckets[i++]) {
		uint64_t low = i ? 1ULL << i : 0;
		uint64_t width = (1ULL << (i + 1)) - low;
		double inside;

		if (before + buckets[i] < rank)
			continue;
		/* what goes on may be longer than all that were counted */
		if (rank == count && max >= low && max != UINT64_MAX &&
		    (max - low < width || i + 1 == size))
			return max;
		inside = ((double)(rank - before) - 0.5) / buckets[i];
		low += (uint64_t)((double)width * inside);
		return low < max ? low : max;
	}
	return 0;
}
