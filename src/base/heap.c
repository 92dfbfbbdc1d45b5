// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h */
#endif

#define MIB ((size_t)1 << 20)

/* Others, musl's among them, have nothing to set. */
static void set_thresholds(size_t mmap_bytes, size_t trim_bytes)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, (int)mmap_bytes);
	mallopt(M_TRIM_THRESHOLD, (int)trim_bytes);
#else
	(void)mmap_bytes;
	(void)trim_bytes;
#endif
}

void heap_for_long_runs(void)
{
	/*
	 * By default glibc raises the first threshold to what was freed last. Arrays of 10,000
	 * rows would then grow by copies on the heap and leave their old places resident: 41 MiB
	 * instead of 31. Small ones stay on the heap, whose end is not given back each interval.
	 */
	set_thresholds(MIB, 4 * MIB);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void heap_for_large_blocks(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *block;

	set_thresholds(32 * MIB, 2 * bytes); /* HEAP_MAX_SIZE / 2, the largest there is */
	block = malloc(bytes);
	if (block) {
		uintptr_t first = ((uintptr_t)block + page - 1) & ~(page - 1);

		madvise((void *)first, ((uintptr_t)block + bytes - first) & ~(page - 1),
			MADV_POPULATE_WRITE);
	}
	free(block);
}
