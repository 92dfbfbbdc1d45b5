// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/thread_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_PRESENT (1ULL << 63)
#define PAGE_SWAPPED (1ULL << 62)

static int open_of(uint32_t tid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", tid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct thread_memory thread_memory_open(uint32_t tid)
{
	/* not process_vm_readv(), which small kernels leave out */
	return (struct thread_memory){open_of(tid, "mem"), open_of(tid, "pagemap")};
}

void thread_memory_close(struct thread_memory *memory)
{
	cleanup_close_fd(&memory->fd);
	cleanup_close_fd(&memory->pages);
}

/* Pages are of 4 KiB or more. */
#define PAGES_MAX (THREAD_MEMORY_BYTES / 4096 + 1)

/* Which of the pages from the first one on are in memory, or swapped: 1 << its number. */
static uint32_t pages_there(const struct thread_memory *memory, uint64_t first, size_t pages)
{
	uint64_t entries[PAGES_MAX];
	ssize_t got = pread(memory->pages, entries, pages * sizeof(*entries),
			    (off_t)(first * sizeof(*entries)));
	uint32_t there = 0;

	for (size_t i = 0; i < pages && (ssize_t)((i + 1) * sizeof(*entries)) <= got; i++)
		there |= (entries[i] & (PAGE_PRESENT | PAGE_SWAPPED) ? 1U : 0U) << i;
	return there;
}

_Static_assert(PAGES_MAX <= 32, "there is a bit for each");

static size_t read_pages(const struct thread_memory *memory, uint64_t address, uint8_t *into,
			 size_t bytes, bool with_holes)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), first = address / size;
	size_t pages, done = 0, end;
	uint32_t there;

	if (!bytes || address + bytes < address || bytes > THREAD_MEMORY_BYTES)
		return 0;
	pages = (size_t)((address + bytes - 1) / size - first) + 1;
	there = pages_there(memory, first, pages);
	if (with_holes)
		memset(into, 0, bytes);
	for (size_t i = 0; i < pages; i = end) {
		bool is_there = there >> i & 1;
		size_t from = i ? (size_t)((first + i) * size - address) : 0, length;
		ssize_t got;

		for (end = i + 1; end < pages && (there >> end & 1) == is_there; end++)
			;
		if (!is_there && with_holes)
			continue;
		length = (end < pages ? (size_t)((first + end) * size - address) : bytes) - from;
		got = is_there ? pread(memory->fd, into + from, length, (off_t)(address + from))
			       : -1;
		done = got > 0 ? from + (size_t)got : done;
		if (got < (ssize_t)length)
			break;
	}
	return done;
}

size_t thread_memory_read(const struct thread_memory *memory, uint64_t address, void *into,
			  size_t bytes)
{
	return read_pages(memory, address, into, bytes, false);
}

size_t thread_memory_read_stack(const struct thread_memory *memory, uint64_t address, void *into,
				size_t bytes)
{
	return read_pages(memory, address, into, bytes, true);
}
