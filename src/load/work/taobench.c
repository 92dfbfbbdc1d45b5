// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cache of keys and values, as TaoBench makes scheduler load with one (DCPerf,
 * https://github.com/facebookresearch/DCPerf): clients look random keys up; what is in the cache
 * they read at once, for the rest they wait for a member on the slow path, who takes its time as a
 * database would, and puts the value into the cache instead of another.
 *
 * A set of WAYS places holds WAYS of the keys that belong to it: of many sets, so that the keys of
 * each are hit in the same share, which is WAYS / keys.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "load/work/usable_cpus.h"
#include "load/work_type.h"

#define WAYS	    16
#define VALUE_BYTES 256

struct taobench {
	uint64_t clients;
	uint64_t slow;
	uint64_t memory;
	double hit_rate;
	uint64_t slow_time;
	uint64_t arrival;
};

static const struct param params[] = {
	PARAM(struct taobench, clients, COUNT, "0", 0, 4096,
	      "workers that look keys up; 0: as many as there are CPUs"),
	PARAM(struct taobench, slow, COUNT, "0", 0, 4096,
	      "workers on the slow path; 0: a third of the clients"),
	PARAM(struct taobench, memory, SIZE, "64M", 1 << 16, 1ULL << 36, "of the cache"),
	PARAM(struct taobench, hit_rate, SHARE, "90%", 0, 0, "of the lookups"),
	PARAM(struct taobench, slow_time, DURATION, "100us", 0, 0, "sleep for each that misses"),
	PARAM(struct taobench, arrival, COUNT, "0", 0, 100000000,
	      "lookups a second of all clients, at random times; 0: each after the other"),
	{.name = NULL},
};

struct item {
	uint64_t key; /* + 1; 0: none */
	char value[VALUE_BYTES - sizeof(uint64_t)];
};

/* Of each member: that of a client asks, that of one on the slow path has who asked it. */
struct member {
	_Alignas(64) uint32_t called; /* counts calls, or answers: what its owner waits on */
	uint32_t first;		      /* slow path: who asks, last come first: position + 1 */
	uint32_t next;		      /* client: the one after it in that list */
	uint64_t stamp_ns;
	uint64_t key;	 /* client: it asks for */
	uint32_t filled; /* of the first member: how many have filled their part */
};

/* Behind them are the items, set by set. */
struct cache {
	_Alignas(64) struct member members[1];
};

struct state {
	uint64_t due_ns;       /* when the next lookup arrives */
	uint64_t paused_ns;    /* it has been taken into account so far */
	uint64_t turn;	       /* client: whom it asks next */
	uint32_t asking;       /* slow path: who is next; position + 1 */
	volatile uint64_t sum; /* of what it read */
};

static uint64_t clients_of(const struct taobench *taobench)
{
	return taobench->clients ? taobench->clients : usable_cpus();
}

static uint64_t slow_of(const struct taobench *taobench)
{
	uint64_t third = clients_of(taobench) / 3;

	return taobench->slow ? taobench->slow : third ? third : 1;
}

static unsigned int team_size(const void *params_)
{
	return (unsigned int)(clients_of(params_) + slow_of(params_));
}

static uint64_t set_count(const struct taobench *taobench)
{
	return taobench->memory / (WAYS * sizeof(struct item));
}

static size_t shared_bytes(const void *params_)
{
	return team_size(params_) * sizeof(struct member) +
	       set_count(params_) * WAYS * sizeof(struct item);
}

static int check(const void *params_, struct error *error)
{
	const struct taobench *taobench = params_;

	return taobench->hit_rate > 0 ? 0
				      : error_set(error, EINVAL, "hit_rate: 0 is no cache at all");
}

static bool is_client(const struct worker *worker)
{
	return worker->position < clients_of(worker->params);
}

static struct member *member_of(const struct worker *worker, unsigned int position)
{
	struct cache *cache = worker->shared;

	return &cache->members[position];
}

static struct item *set_of(const struct worker *worker, uint64_t key)
{
	struct item *items = (struct item *)member_of(worker, worker->team_size);

	return &items[key % set_count(worker->params) * WAYS];
}

static void put(struct item *item, uint64_t key)
{
	/* no reader is to take the value of one for that of another */
	__atomic_store_n(&item->key, 0, __ATOMIC_SEQ_CST);
	memset(item->value, (int)key, sizeof(item->value));
	__atomic_store_n(&item->key, key + 1, __ATOMIC_RELEASE);
}

/* Its part of the cache: a full one is what the hit rate is of. */
static void fill(const struct worker *worker)
{
	const struct taobench *taobench = worker->params;
	uint64_t sets = set_count(taobench), members = slow_of(taobench);

	for (uint64_t set = worker->position - clients_of(taobench); set < sets; set += members)
		for (uint64_t way = 0; way < WAYS && !worker_stopping(); way++)
			put(&set_of(worker, set)[way], set + way * sets);
}

static int begin(struct worker *worker)
{
	const struct taobench *taobench = worker->params;
	struct member *first = member_of(worker, 0);
	struct state *state = calloc(1, sizeof(*state));
	uint32_t filled;

	worker->state = state;
	if (!state) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	if (!is_client(worker)) {
		fill(worker);
		__atomic_add_fetch(&first->filled, 1, __ATOMIC_RELEASE);
		worker_futex_wake(&first->filled, worker->team_size);
	}
	while ((filled = __atomic_load_n(&first->filled, __ATOMIC_ACQUIRE)) < slow_of(taobench) &&
	       !worker_stopping())
		worker_futex_wait(&first->filled, filled);
	state->due_ns = clock_monotonic_ns();
	state->paused_ns = worker_paused_ns(worker);
	state->turn = worker->position;
	return 0;
}

/* True: it was there, and is read. */
static bool get(struct worker *worker, uint64_t key)
{
	const struct item *items = set_of(worker, key);
	struct state *state = worker->state;

	for (size_t i = 0; i < WAYS; i++) {
		uint64_t sum = 0;

		if (__atomic_load_n(&items[i].key, __ATOMIC_ACQUIRE) != key + 1)
			continue;
		for (size_t k = 0; k < sizeof(items->value); k++)
			sum += (uint8_t)items[i].value[k];
		state->sum += sum;
		return __atomic_load_n(&items[i].key, __ATOMIC_ACQUIRE) == key + 1;
	}
	return false;
}

static void call(struct member *member, unsigned int wake)
{
	worker_stamp(&member->stamp_ns);
	__atomic_add_fetch(&member->called, 1, __ATOMIC_RELEASE);
	worker_futex_wake(&member->called, wake);
}

/* By one of the slow path, these in turn. False: stopped. */
static bool fetch(struct worker *worker, uint64_t key)
{
	const struct taobench *taobench = worker->params;
	struct member *self = member_of(worker, worker->position), *slow;
	struct state *state = worker->state;
	uint32_t seen = __atomic_load_n(&self->called, __ATOMIC_RELAXED), first;

	slow = member_of(worker,
			 (unsigned int)(clients_of(taobench) + state->turn++ % slow_of(taobench)));
	self->key = key;
	first = __atomic_load_n(&slow->first, __ATOMIC_RELAXED);
	do
		self->next = first;
	while (!__atomic_compare_exchange_n(&slow->first, &first, worker->position + 1, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	call(slow, 1);
	return worker_await_change(worker, &self->called, seen, &self->stamp_ns);
}

/* When the lookup has arrived; 0: stopped. */
static uint64_t await_arrival(struct worker *worker)
{
	const struct taobench *taobench = worker->params;
	struct state *state = worker->state;
	uint64_t now_ns = clock_monotonic_ns();
	double share;

	if (!taobench->arrival)
		return now_ns;
	/* a Poisson process: the time to the next one has an exponential distribution */
	share = (double)(random_next(&worker->random) >> 11) * 0x1p-53;
	state->due_ns += (uint64_t)(-log1p(-share) * 1e9 * (double)clients_of(taobench) /
				    (double)taobench->arrival) +
			 worker_new_pause_ns(worker, &state->paused_ns);
	if (state->due_ns > now_ns && !worker_rest(worker, state->due_ns - now_ns))
		return 0;
	return state->due_ns;
}

static void look_up(struct worker *worker)
{
	const struct taobench *taobench = worker->params;
	double keys = (double)(set_count(taobench) * WAYS) / taobench->hit_rate;
	uint64_t arrived_ns = await_arrival(worker);
	uint64_t key = random_next(&worker->random) % (uint64_t)keys;

	if (!arrived_ns || (!get(worker, key) && !fetch(worker, key)))
		return;
	worker_sample(worker, SAMPLES_COST, clock_monotonic_ns() - arrived_ns);
	worker->work_units++;
}

static void serve(struct worker *worker)
{
	const struct taobench *taobench = worker->params;
	struct member *self = member_of(worker, worker->position), *client;
	struct state *state = worker->state;
	uint32_t seen;

	while (!state->asking) {
		seen = __atomic_load_n(&self->called, __ATOMIC_ACQUIRE);
		state->asking = __atomic_exchange_n(&self->first, 0, __ATOMIC_ACQUIRE);
		if (!state->asking &&
		    !worker_await_change(worker, &self->called, seen, &self->stamp_ns))
			return;
	}
	if (taobench->slow_time && !worker_rest(worker, taobench->slow_time))
		return;
	client = member_of(worker, state->asking - 1);
	/* once answered, it may ask again */
	state->asking = client->next;
	put(&set_of(worker, client->key)[random_next(&worker->random) % WAYS], client->key);
	call(client, 1);
	worker->work_units++;
}

static void iterate(struct worker *worker)
{
	if (is_client(worker))
		look_up(worker);
	else
		serve(worker);
}

static void end(struct worker *worker)
{
	free(worker->state);
}

const struct work_type work_taobench = {
	.name = "taobench",
	.summary = "clients of a cache, and a slow path for what is not in it",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct taobench),
	.team_size = team_size,
	.shared_bytes = shared_bytes,
	.check = check,
	.units_each = 1,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
