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

static bool is_there(const struct thread_memory *memory, uint64_t page)
{
	uint64_t entry;

	return pread(memory->pages, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) ==
		       sizeof(entry) &&
	       entry & (PAGE_PRESENT | PAGE_SWAPPED);
}

size_t thread_memory_read(const struct thread_memory *memory, uint64_t address, void *into,
			  size_t bytes)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), end = address;
	ssize_t got;

	while (end - address < bytes && is_there(memory, end / size))
		end = (end / size + 1) * size;
	bytes = end - address < bytes ? (size_t)(end - address) : bytes;
	got = bytes ? pread(memory->fd, into, bytes, (off_t)address) : 0;
	return got > 0 ? (size_t)got : 0;
}
