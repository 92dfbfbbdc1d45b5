/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How glibc's heap takes memory from the kernel, and gives it back. */
#ifndef DWELL_BASE_HEAP_H
#define DWELL_BASE_HEAP_H

#include <stddef.h>

/* For a program that runs for long: mallopt(3). */
void heap_for_long_runs(void);

/*
 * For a while in which large blocks come and go: `bytes` of memory are made resident at once, and
 * all blocks share them. A page that is touched for the first time costs 0.3 to 15 us (on
 * paravirtualized machines), and a block of its own has as many of them as it has pages. Without
 * memory, or before Linux 5.14, nothing is resident sooner.
 */
void heap_for_large_blocks(size_t bytes);

#endif
