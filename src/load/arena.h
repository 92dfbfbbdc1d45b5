/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a group of workers shares with the parent: a slot of live figures for each worker,
 * its samples (so that 100,000 of them need not go through a pipe, and outlive a worker that is
 * killed), and what its teams share. Mapped before the fork; pages cost nothing until touched.
 */
#ifndef DWELL_LOAD_ARENA_H
#define DWELL_LOAD_ARENA_H

#include <stddef.h>

#include "load/worker.h"

struct arena {
	char *memory; /* MAP_SHARED */
	size_t bytes;
	size_t samples_at, samples_bytes; /* of each worker */
	size_t teams_at, team_bytes;
};

int arena_init(struct arena *arena, unsigned int workers, unsigned int teams, size_t team_bytes,
	       struct error *error) must_check;
void arena_release(struct arena *arena);

static inline struct worker_slot *arena_slot(const struct arena *arena, unsigned int worker)
{
	return (struct worker_slot *)(void *)arena->memory + worker;
}

static inline uint64_t *arena_samples(const struct arena *arena, unsigned int worker,
				      enum report_samples stream)
{
	return (uint64_t *)(void *)(arena->memory + arena->samples_at +
				    worker * arena->samples_bytes) +
	       (size_t)stream * RESERVOIR_SIZE;
}

static inline void *arena_team(const struct arena *arena, unsigned int team)
{
	return arena->memory + arena->teams_at + team * arena->team_bytes;
}

#endif
