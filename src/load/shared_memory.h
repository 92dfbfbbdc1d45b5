/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a group of workers shares with the parent: a slot of live figures for each worker,
 * figures of the parts of the run, its samples (so that 100,000 of them need not go through a pipe,
 * and outlive a worker that is killed), and what its teams share. Mapped before the fork; pages
 * cost nothing until touched.
 */
#ifndef DWELL_LOAD_SHARED_MEMORY_H
#define DWELL_LOAD_SHARED_MEMORY_H

#include <stddef.h>

#include "load/samples.h"
#include "load/worker.h"

struct shared_memory {
	char *memory; /* MAP_SHARED */
	size_t bytes;
	unsigned int parts; /* of the run, for each worker */
	size_t parts_at;
	unsigned int cpus; /* of the machine, for each worker */
	size_t cpus_at;
	size_t samples_at, samples_bytes; /* of each worker */
	size_t teams_at, team_bytes;
};

/* `parts` is 1 or more, and no more than RESERVOIR_SIZE. */
int shared_init(struct shared_memory *shared, unsigned int workers, unsigned int teams,
		unsigned int parts, size_t team_bytes, struct error *error) must_check;
void shared_release(struct shared_memory *shared);

static inline struct worker_slot *shared_slot(const struct shared_memory *shared,
					      unsigned int worker)
{
	return (struct worker_slot *)(void *)shared->memory + worker;
}

static inline struct worker_part *shared_part(const struct shared_memory *shared,
					      unsigned int worker, unsigned int part)
{
	return (struct worker_part *)(void *)(shared->memory + shared->parts_at) +
	       (size_t)worker * shared->parts + part;
}

/* One for each CPU. */
static inline struct worker_cpu *shared_cpus(const struct shared_memory *shared,
					     unsigned int worker)
{
	return (struct worker_cpu *)(void *)(shared->memory + shared->cpus_at) +
	       (size_t)worker * shared->cpus;
}

/* Samples of a stream that are kept of each part. */
static inline uint64_t shared_room(const struct shared_memory *shared)
{
	return RESERVOIR_SIZE / shared->parts;
}

static inline uint64_t *shared_samples(const struct shared_memory *shared, unsigned int worker,
				       enum report_samples stream, unsigned int part)
{
	return (uint64_t *)(void *)(shared->memory + shared->samples_at +
				    worker * shared->samples_bytes) +
	       (size_t)stream * RESERVOIR_SIZE + part * shared_room(shared);
}

/* Of one part. */
static inline struct sample_set shared_sample_set(const struct shared_memory *shared,
						  unsigned int worker, enum report_samples stream,
						  unsigned int part)
{
	uint64_t total = shared_part(shared, worker, part)->sample_totals[stream];

	return (struct sample_set){
		.values = shared_samples(shared, worker, stream, part),
		.count = reservoir_kept(total, shared_room(shared)),
		.total = total,
	};
}

static inline void *shared_team(const struct shared_memory *shared, unsigned int team)
{
	return shared->memory + shared->teams_at + team * shared->team_bytes;
}

#endif
