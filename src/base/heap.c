// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/heap.h"

#include <malloc.h>

#define MIB (1 << 20)

void heap_for_long_runs(void)
{
#ifdef __GLIBC__
	/*
	 * By default glibc raises the first threshold to what was freed last. Arrays of 10,000
	 * rows would then grow by copies on the heap and leave their old places resident: 41 MiB
	 * instead of 31. Small ones stay on the heap, whose end is not given back each interval.
	 */
	mallopt(M_MMAP_THRESHOLD, MIB);
	mallopt(M_TRIM_THRESHOLD, 4 * MIB);
#endif
	heap_give_back();
}

void heap_give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
