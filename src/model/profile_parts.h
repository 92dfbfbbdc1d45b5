/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a profile share; for them only. */
#ifndef DWELL_MODEL_PROFILE_PARTS_H
#define DWELL_MODEL_PROFILE_PARTS_H

#include "base/identities.h"
#include "model/profile.h"

/* Stacks of one thread, state and place, before the account's total is known. */
struct cell {
	uint32_t thread, stack;
	enum state state;
	uint64_t count;
	uint64_t shared;  /* of them, that another cell has too: of the wait before this one */
	double weight;	  /* Σ length / probability, ns; of samples on a CPU how many */
	double spread;	  /* Σ (1 - probability) (length / probability)² */
	double uncertain; /* Σ length / probability, of those that were not certain */
	uint64_t uncertain_count;
};

/* The cells of one thread and state. */
struct cells_sum {
	double weight, spread, uncertain;
	uint64_t count, uncertain_count;
	double factor; /* ns of the account for one of weight */
	double unseen; /* variance for what was not taken at all, by chance */
};

/* A sum over some cells of one thread and state, on its way. */
struct part {
	double weight, spread;
	uint64_t count;
	bool is_touched;
};

struct profile {
	struct stacks stacks;
	struct wire_profile quality;
	uint64_t begin_ns; /* CLOCK_MONOTONIC; 0: no interval has begun */
	struct identities thread_ids;
	struct profile_thread *threads;
	size_t thread_room;
	struct identities cell_ids; /* (thread, state << 32 | stack) */
	struct cell *cells;
	size_t cell_room;
	struct cells_sum *sums; /* by thread * STATES + state */
	size_t sum_room;
	struct profile_path *paths;
	size_t path_count, path_room;
	struct profile_state states[STATES];
	struct profile_spot *spots;
	size_t spot_count, spot_room;
};

static inline struct cells_sum *profile_sum(const struct profile *profile, size_t thread,
					    enum state state)
{
	return &profile->sums[thread * STATES + state];
}

/*
 * Of a part of the cells of a thread and state. With the share s of the weight, the variance of s
 * times a total that is known is the factor² times Σ (1 - p) (w (1 - s))² over the part and
 * Σ (1 - p) (w s)² over the rest.
 */
struct estimate profile_estimate(const struct cells_sum *sum, const struct part *part);

#endif
