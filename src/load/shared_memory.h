/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a group of workers shares with the parent: a slot of live figures for each worker,
 * its samples (so that 100,000 of them need not go through a pipe, and outlive a worker that is
 * killed), and what its teams share. Mapped before the fork; pages cost nothing until touched.
 */
#ifndef DWELL_LOAD_SHARED_MEMORY_H
#define DWELL_LOAD_SHARED_MEMORY_H

#include <stddef.h>

#include "load/worker.h"

struct shared_memory {
	char *memory; /* MAP_SHARED */
	size_t bytes;
	size_t samples_at, samples_bytes; /* of each worker */
	size_t teams_at, team_bytes;
};

int shared_init(struct shared_memory *shared, unsigned int workers, unsigned int teams,
		size_t team_bytes, struct error *error) must_check;
void shared_release(struct shared_memory *shared);

static inline struct worker_slot *shared_slot(const struct shared_memory *shared,
					      unsigned int worker)
{
	return (struct worker_slot *)(void *)shared->memory + worker;
}

static inline uint64_t *shared_samples(const struct shared_memory *shared, unsigned int worker,
				       enum report_samples stream)
{
	return (uint64_t *)(void *)(shared->memory + shared->samples_at +
				    worker * shared->samples_bytes) +
	       (size_t)stream * RESERVOIR_SIZE;
}

static inline void *shared_team(const struct shared_memory *shared, unsigned int team)
{
	return shared->memory + shared->teams_at + team * shared->team_bytes;
}

#endif
