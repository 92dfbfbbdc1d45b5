// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "load/shared_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

int shared_init(struct shared_memory *shared, unsigned int workers, unsigned int teams,
		unsigned int parts, size_t team_bytes, struct error *error)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	*shared = (struct shared_memory){
		.cpus = cpus > 0 && cpus < CPUS_MAX ? (unsigned int)cpus : CPUS_MAX,
		.parts = parts,
		.parts_at = whole_pages(workers * sizeof(struct worker_slot)),
		.samples_bytes = whole_pages(SAMPLES_STREAMS * RESERVOIR_SIZE * sizeof(uint64_t)),
		/* teams do not share cache lines, nor pages: they may be far from each other */
		.team_bytes = whole_pages(team_bytes),
	};
	shared->cpus_at = shared->parts_at +
			  whole_pages((size_t)workers * parts * sizeof(struct worker_part));
	shared->samples_at = shared->cpus_at + whole_pages((size_t)workers * shared->cpus *
							   sizeof(struct worker_cpu));
	shared->teams_at = shared->samples_at + workers * shared->samples_bytes;
	shared->bytes = shared->teams_at + teams * shared->team_bytes;
	shared->memory = mmap(NULL, shared->bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared->memory != MAP_FAILED)
		return 0;
	shared->memory = NULL;
	return error_set(error, errno, "cannot map the memory of %u workers: %s", workers,
			 strerror(errno));
}

void shared_release(struct shared_memory *shared)
{
	if (shared->memory)
		munmap(shared->memory, shared->bytes);
	*shared = (struct shared_memory){.memory = NULL};
}
