/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of other threads, as far as it is there: for helpers, as reading it may still hang. */
#ifndef DWELL_SYMBOL_THREAD_MEMORY_H
#define DWELL_SYMBOL_THREAD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct thread_memory {
	int fd, pages; /* /proc/TID/mem, /proc/TID/pagemap; negative: not ours to read */
};

struct thread_memory thread_memory_open(uint32_t tid);
void thread_memory_close(struct thread_memory *memory);
#define cleanup_memory	    cleanup(thread_memory_close)

#define THREAD_MEMORY_BYTES 32768 /* that are read at most */

/*
 * How many bytes from `address` on were read: up to the first page that is neither in memory nor
 * swapped. Such a page may be of a file whose filesystem never answers (FUSE), and who waits for
 * that cannot be killed.
 */
size_t thread_memory_read(const struct thread_memory *memory, uint64_t address, void *into,
			  size_t bytes) must_check;

/*
 * Of a stack: a page that is not there has not been written to, or is not mapped, and is zeros. Up
 * to the last that is there.
 */
size_t thread_memory_read_stack(const struct thread_memory *memory, uint64_t address, void *into,
				size_t bytes) must_check;

#endif
