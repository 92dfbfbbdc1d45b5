// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/thread_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
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

/* How many of the pages from the first one on are, up to the first that is not. */
static size_t count_there(const struct thread_memory *memory, uint64_t first, size_t pages)
{
	uint64_t entries[64];
	size_t there = 0;

	while (there < pages) {
		size_t wanted = pages - there, got, i;
		ssize_t bytes;

		if (wanted > ARRAY_SIZE(entries))
			wanted = ARRAY_SIZE(entries);
		bytes = pread(memory->pages, entries, wanted * sizeof(*entries),
			      (off_t)((first + there) * sizeof(*entries)));
		got = bytes > 0 ? (size_t)bytes / sizeof(*entries) : 0;
		for (i = 0; i < got && entries[i] & (PAGE_PRESENT | PAGE_SWAPPED); i++)
			;
		there += i;
		if (i < wanted)
			break;
	}
	return there;
}

size_t thread_memory_read(const struct thread_memory *memory, uint64_t address, void *into,
			  size_t bytes)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), first = address / size, end;
	ssize_t got;

	if (!bytes || address + bytes < address)
		return 0;
	end = (first + count_there(memory, first, (address + bytes - 1) / size - first + 1)) * size;
	if (end <= address)
		return 0;
	bytes = end - address < bytes ? (size_t)(end - address) : bytes;
	got = pread(memory->fd, into, bytes, (off_t)address);
	return got > 0 ? (size_t)got : 0;
}
