// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads of a program that are too short for stacks of their own. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/text.h"
#include "model/profile_parts.h"

/*
 * A thread that is expected to have fewer stacks is one of its program's. What has none is not
 * sampled: of threads with so many that are e^-3, a twentieth of the time.
 */
#define FEW_STACKS 3

/* Of a program and one way of pooling. */
struct pool {
	size_t row; /* IDENTITY_NONE: there is none yet */
	uint32_t threads, pid;
};

struct pools {
	struct identities ids; /* (pooling, hash of the program's name) */
	struct pool *items;
	size_t room;
};

/* What a stack stands for, ns. */
struct stack_time {
	double on_cpu, of_wait;
};

/* Whether a thread has few stacks is not to depend on those it has: of waits it is the mean of all
 * that were not certain. */
static struct stack_time stack_time_of(const struct profile *profile)
{
	uint32_t frequency = profile->quality.frequency;
	double period_ns = (double)NS_PER_S / (frequency ? frequency : 100), sum = 0;
	uint64_t count = 0;

	for (size_t i = 0; i < profile->cell_ids.count; i++) {
		const struct cell *cell = &profile->cells[i];

		/* a wait for a CPU was chosen with the one before it */
		if (is_on_cpu(cell->state) || cell->state == STATE_RUNNABLE)
			continue;
		sum += cell->uncertain;
		count += cell->uncertain_count;
	}
	return (struct stack_time){
		.on_cpu = period_ns,
		.of_wait = fmax(period_ns, count ? sum / (double)count : 0),
	};
}

static enum pooling pooling_of(const struct account *account, struct stack_time each)
{
	double on_cpu_ns = 0, waits_ns = 0;

	for (int state = 0; state < STATES; state++)
		*(is_on_cpu((enum state)state) ? &on_cpu_ns : &waits_ns) +=
			(double)account->thread.states_ns[state];
	if (!account->is_measured || on_cpu_ns >= FEW_STACKS * each.on_cpu)
		return POOL_NOTHING;
	return account->has_ended && waits_ns < FEW_STACKS * each.of_wait ? POOL_ALL : POOL_ON_CPU;
}

/* NULL: no memory. */
static struct pool *pool_of(struct pools *pools, const struct account *account, size_t *ret_index)
{
	size_t known = pools->ids.count;
	size_t index =
		identities_add(&pools->ids, account->pooling, text_hash(account->thread.process));

	if (index == IDENTITY_NONE ||
	    array_reserve(&pools->items, &pools->room, index + 1, sizeof(*pools->items)) < 0)
		return NULL;
	if (index == known)
		pools->items[index] =
			(struct pool){.row = IDENTITY_NONE, .pid = account->thread.pid};
	*ret_index = index;
	return &pools->items[index];
}

static int find_pools(struct profile *profile, struct pools *pools)
{
	const struct stack_time each = stack_time_of(profile);

	for (size_t i = 0; i < profile->thread_ids.count; i++) {
		struct account *account = &profile->accounts[i];
		struct pool *pool;

		account->pooling = pooling_of(account, each);
		if (account->pooling == POOL_NOTHING)
			continue;
		pool = pool_of(pools, account, &account->pool);
		if (!pool)
			return -ENOMEM;
		pool->threads++;
		if (pool->pid != account->thread.pid)
			pool->pid = 0;
	}
	return 0;
}

/* No thread has the number 0. */
static int add_row(struct profile *profile, const struct account *like, struct pool *pool)
{
	/* `like` may move */
	const struct account of = *like;
	uint64_t key = text_hash(of.thread.process) * 31 + of.pooling;
	struct account *account = profile_account(profile, 0, pool->pid, key, &pool->row);
	struct profile_thread *thread;

	if (!account)
		return -ENOMEM;
	thread = &account->thread;
	thread->pid = pool->pid;
	thread->threads = of.pooling == POOL_ALL ? pool->threads : 0;
	thread->pooled = pool->threads;
	memcpy(thread->comm, of.thread.process, sizeof(thread->comm));
	memcpy(thread->process, of.thread.process, sizeof(thread->process));
	return 0;
}

/* From places of pools to those of rows. */
static int place_pools(struct profile *profile, struct pools *pools)
{
	size_t count = profile->thread_ids.count;

	for (size_t i = 0; i < count; i++) {
		struct account *account = &profile->accounts[i];
		struct pool *pool;

		if (account->pooling == POOL_NOTHING)
			continue;
		pool = &pools->items[account->pool];
		if (pool->threads < 2) {
			account->pooling = POOL_NOTHING;
			continue;
		}
		if (pool->row == IDENTITY_NONE && add_row(profile, account, pool) < 0)
			return -ENOMEM;
		profile->accounts[i].pool = pool->row;
	}
	return 0;
}

static int make_rows(struct profile *profile)
{
	size_t count = profile->thread_ids.count;

	if (array_reserve(&profile->rows, &profile->row_room, count + 1, sizeof(*profile->rows)) <
	    0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		profile->rows[i] = profile->accounts[i].thread;
	for (size_t i = 0; i < count; i++) {
		const struct account *account = &profile->accounts[i];
		struct profile_thread *row = &profile->rows[i];

		if (account->pooling != POOL_ALL)
			continue;
		for (int state = 0; state < STATES; state++) {
			profile->rows[account->pool].states_ns[state] += row->states_ns[state];
			row->states_ns[state] = 0;
		}
		row->threads = 0;
	}
	return 0;
}

int profile_pool(struct profile *profile)
{
	struct pools pools = {0};
	int result;

	/* those of the last time */
	for (size_t i = 0; i < profile->thread_ids.count; i++)
		if (profile->accounts[i].thread.pooled)
			profile->accounts[i].thread.threads = 0;
	result = find_pools(profile, &pools);
	if (result >= 0)
		result = place_pools(profile, &pools);
	if (result >= 0)
		result = make_rows(profile);
	identities_release(&pools.ids);
	free(pools.items);
	return result;
}

size_t profile_row_of(const struct profile *profile, size_t thread, enum state state)
{
	const struct account *account = &profile->accounts[thread];

	return account->pooling == POOL_ALL || (account->pooling == POOL_ON_CPU && is_on_cpu(state))
		       ? account->pool
		       : thread;
}
