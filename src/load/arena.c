// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "load/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

int arena_init(struct arena *arena, unsigned int workers, unsigned int teams, size_t team_bytes,
	       struct error *error)
{
	*arena = (struct arena){
		.samples_at = whole_pages(workers * sizeof(struct worker_slot)),
		.samples_bytes = whole_pages(SAMPLES_STREAMS * RESERVOIR_SIZE * sizeof(uint64_t)),
		/* teams do not share cache lines, nor pages: they may be far from each other */
		.team_bytes = whole_pages(team_bytes),
	};
	arena->teams_at = arena->samples_at + workers * arena->samples_bytes;
	arena->bytes = arena->teams_at + teams * arena->team_bytes;
	arena->memory = mmap(NULL, arena->bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena->memory != MAP_FAILED)
		return 0;
	arena->memory = NULL;
	return error_set(error, errno, "cannot map the memory of %u workers: %s", workers,
			 strerror(errno));
}

void arena_release(struct arena *arena)
{
	if (arena->memory)
		munmap(arena->memory, arena->bytes);
	*arena = (struct arena){.memory = NULL};
}
