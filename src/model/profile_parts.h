/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a profile share; for them only. */
#ifndef DWELL_MODEL_PROFILE_PARTS_H
#define DWELL_MODEL_PROFILE_PARTS_H

#include "base/identities.h"
#include "model/profile.h"
#include "model/stack_numbers.h"

/*
 * What stacks say of one thread and state, by probabilities p. In ns; of samples on a CPU, which
 * were unlikely without end, how many there are.
 */
struct weight {
	double seen;   /* Σ length: it was so long for certain */
	double unseen; /* Σ length (1/p - 1): what they stand for beside themselves */
	double spread; /* Σ (1 - p) (length / p)² */
};

/* Stacks of one thread, state, reason and place, before the account's total is known. */
struct cell {
	uint32_t thread, stack;
	enum state state;
	struct wire_wait_site site;
	uint64_t count;
	uint64_t shared; /* of them, that another cell has too: of the wait before this one */
	struct weight weight;
	double uncertain; /* Σ length / p, of those that were not certain */
	uint64_t uncertain_count;
};

/* The cells of one row and state. */
struct cells_sum {
	uint64_t total_ns; /* by the accounts of the threads that it has cells of */
	struct weight weight;
	double uncertain;
	uint64_t count, uncertain_count;
	double seen_factor, unseen_factor; /* ns of the account for one of weight */
	bool is_whole;	/* the account's total is divided, all of it: shares are of that */
	double missed;	/* variance for what was not taken at all, by chance */
	double doubt;	/* how much of what was not seen may have no stack: 0 to 1 */
	double left_ns; /* of the account, that no stack stands for */
};

/* A sum over some cells of one row and state, on its way. */
struct part {
	struct weight weight;
	uint64_t count;
	uint32_t threads, last; /* that it has cells of; the place of the last one + 1 */
	bool is_touched;
};

/* Which of a thread's stacks are too few to divide its time, and are those of its program. */
enum pooling {
	POOL_NOTHING,
	POOL_ON_CPU,
	POOL_ALL, /* it has ended: its account is, too */
};

/* A thread, or what stands for several of a program: profile_pool(). */
struct account {
	struct profile_thread thread;
	bool is_measured; /* an interval has had it */
	bool has_ended;
	enum pooling pooling;
	size_t pool; /* the place of what stands for it */
};

void weight_add(struct weight *sum, const struct weight *more);

struct profile {
	struct stacks stacks;
	struct stack_numbers numbers;
	struct wire_profile quality, passed; /* the last one, and that of before the beginning */
	uint64_t begin_ns;		     /* CLOCK_MONOTONIC; 0: no interval has begun */
	struct identities thread_ids;
	struct account *accounts;
	size_t account_room;
	struct profile_thread *rows; /* as they are shown; places are those of the accounts */
	size_t row_room;
	struct identities cell_ids; /* (thread, cell_key()) */
	struct cell *cells;
	size_t cell_room;
	struct cells_sum *sums; /* by row * STATES + state */
	size_t sum_room;
	struct identities path_ids; /* (row, cell_key()) */
	struct profile_path *paths;
	size_t path_room;
	struct profile_state states[STATES];
	struct profile_spot *spots;
	size_t spot_count, spot_room;
};

static inline struct cells_sum *profile_sum(const struct profile *profile, size_t row,
					    enum state state)
{
	return &profile->sums[row * STATES + state];
}

static inline bool is_on_cpu(enum state state)
{
	return state == STATE_USER || state == STATE_KERNEL;
}

/* Known or new. NULL: no memory. */
struct account *profile_account(struct profile *profile, uint32_t tid, uint32_t pid,
				uint64_t start_ns, size_t *ret_index);

/*
 * Makes the rows: of threads that have ended and too few stacks are one by program, and of those
 * that are too little on a CPU one has their stacks there. 0 or -ENOMEM.
 */
int profile_pool(struct profile *profile) must_check;

/*
 * Of a part of the cells of a row and state. What was seen is known, and what was not is so as a
 * whole. With the share s of that, the variance of s times the whole is the factor² times
 * Σ (1 - p) (w (1 - s))² over the part and Σ (1 - p) (w s)² over the rest, w = length / p; where
 * the whole is not known, the factor² times Σ (1 - p) w² over the part.
 */
struct estimate profile_estimate(const struct cells_sum *sum, const struct part *part);

#endif
