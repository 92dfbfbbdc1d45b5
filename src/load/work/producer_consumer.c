// SPDX-License-Identifier: GPL-2.0-or-later
/* Producers put items into a queue of limited depth, consumers take them out and work on them. */
#include "load/work_type.h"

struct producer_consumer {
	uint64_t producers;
	uint64_t consumers;
	uint64_t rate;
	uint64_t consume_iters;
	uint64_t depth;
};

static const struct param params[] = {
	PARAM(struct producer_consumer, producers, COUNT, "2", 1, 4096, "workers that put items"),
	PARAM(struct producer_consumer, consumers, COUNT, "1", 1, 4096, "workers that take them"),
	PARAM(struct producer_consumer, rate, COUNT, "1000", 1, 1000000,
	      "items a second of each producer"),
	PARAM(struct producer_consumer, consume_iters, COUNT, "4096", 0, 0,
	      "units of spinning for each item"),
	PARAM(struct producer_consumer, depth, COUNT, "1024", 1, 1 << 20, "room of the queue"),
	{.name = NULL},
};

/*
 * Each slot says whose turn it is (Vyukov, Bounded MPMC queue): in lap n of the ring, 2n: to be
 * filled, 2n + 1: to be emptied. So two consumers never take the same item, and all zeros is empty.
 */
struct slot {
	uint64_t turn;
	uint64_t stamp_ns; /* when it was filled */
};

/* That something was put or taken, for those who wait for it. */
struct event {
	_Alignas(64) uint32_t count;
	uint64_t stamp_ns;
};

struct queue {
	_Alignas(64) uint64_t tail; /* the next to be filled */
	_Alignas(64) uint64_t head; /* the next to be emptied */
	struct event put, taken;
	_Alignas(64) struct slot slots[];
};

static unsigned int team_size(const void *params_)
{
	const struct producer_consumer *producer_consumer = params_;

	return (unsigned int)(producer_consumer->producers + producer_consumer->consumers);
}

static size_t shared_bytes(const void *params_)
{
	const struct producer_consumer *producer_consumer = params_;

	return sizeof(struct queue) + producer_consumer->depth * sizeof(struct slot);
}

static uint64_t units(const void *params_, unsigned int position)
{
	const struct producer_consumer *producer_consumer = params_;

	return position < producer_consumer->producers ? 1 : producer_consumer->consume_iters;
}

/*
 * The slot that is ours to fill (phase 0) or to empty (1), and its next turn. NULL: the queue is
 * full, or empty.
 */
static struct slot *claim(struct queue *queue, uint64_t depth, unsigned int phase,
			  uint64_t *ret_next)
{
	uint64_t *end = phase ? &queue->head : &queue->tail;

	for (;;) {
		uint64_t at = __atomic_load_n(end, __ATOMIC_RELAXED);
		struct slot *slot = &queue->slots[at % depth];
		uint64_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);
		uint64_t ours = 2 * (at / depth) + phase;

		if (turn < ours)
			return NULL;
		*ret_next = ours + 1;
		if (turn == ours && __atomic_compare_exchange_n(end, &at, at + 1, false,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return slot;
		/* another one was faster */
	}
}

/* The same, and waits for the event without which there is none. NULL: stopped. */
static struct slot *await_slot(struct worker *worker, struct event *event, unsigned int phase,
			       uint64_t *ret_next)
{
	const struct producer_consumer *producer_consumer = worker->params;
	uint64_t began_ns = 0, now_ns, stamp_ns;
	struct slot *slot;
	bool blocked = false;

	for (;;) {
		uint32_t seen = __atomic_load_n(&event->count, __ATOMIC_ACQUIRE);

		slot = claim(worker->shared, producer_consumer->depth, phase, ret_next);
		if (slot)
			break;
		if (!began_ns)
			began_ns = clock_monotonic_ns();
		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return NULL;
		}
		blocked |= worker_futex_wait(&event->count, seen);
	}
	if (!blocked)
		return slot;
	now_ns = clock_monotonic_ns();
	stamp_ns = phase ? slot->stamp_ns : __atomic_load_n(&event->stamp_ns, __ATOMIC_RELAXED);
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_woken(worker, stamp_ns, began_ns, now_ns);
	worker_look(worker, now_ns);
	return slot;
}

static void tell(struct event *event)
{
	__atomic_add_fetch(&event->count, 1, __ATOMIC_RELEASE);
	worker_futex_wake(&event->count, 1);
}

static void produce(struct worker *worker)
{
	const struct producer_consumer *producer_consumer = worker->params;
	struct queue *queue = worker->shared;
	struct slot *slot;
	uint64_t next;

	if (!worker_rest(worker, 1000000000 / producer_consumer->rate))
		return;
	slot = await_slot(worker, &queue->taken, 0, &next);
	if (!slot)
		return;
	worker_stamp(&slot->stamp_ns);
	__atomic_store_n(&slot->turn, next, __ATOMIC_RELEASE);
	tell(&queue->put);
	worker->work_units++;
}

static void consume(struct worker *worker)
{
	const struct producer_consumer *producer_consumer = worker->params;
	struct queue *queue = worker->shared;
	uint64_t next;
	struct slot *slot = await_slot(worker, &queue->put, 1, &next);

	if (!slot)
		return;
	__atomic_store_n(&slot->turn, next, __ATOMIC_RELEASE);
	worker_stamp(&queue->taken.stamp_ns);
	tell(&queue->taken);
	worker_spin(worker, producer_consumer->consume_iters);
}

static void iterate(struct worker *worker)
{
	const struct producer_consumer *producer_consumer = worker->params;

	if (worker->position < producer_consumer->producers)
		produce(worker);
	else
		consume(worker);
}

const struct work_type work_producer_consumer = {
	.name = "producer-consumer",
	.summary = "some put items into a queue, others work on them",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct producer_consumer),
	.team_size = team_size,
	.shared_bytes = shared_bytes,
	.units = units,
	.iterate = iterate,
};
