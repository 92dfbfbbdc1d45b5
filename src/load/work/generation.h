/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number that one worker of a team advances, and others wait to see changed. Each advance has a
 * stamp of its own, for the waker may be several advances ahead when a wakee gets to run: of the
 * last one's time it would learn too short a latency.
 */
#ifndef DWELL_LOAD_WORK_GENERATION_H
#define DWELL_LOAD_WORK_GENERATION_H

#include "load/worker.h"

/*
 * A wakee that is later than so many advances learns too short a latency: of some 10 us each, that
 * is more than a tenth of a second.
 */
#define GENERATION_STAMPS 16384

struct generation {
	_Alignas(64) uint32_t number;
	_Alignas(64) uint64_t stamps_ns[GENERATION_STAMPS]; /* by number */
};

/* By one member only; wakes that many of those who wait. */
static inline void generation_advance(struct generation *generation, unsigned int wake)
{
	uint32_t next = generation->number + 1;

	worker_stamp(&generation->stamps_ns[next % GENERATION_STAMPS]);
	__atomic_store_n(&generation->number, next, __ATOMIC_RELEASE);
	worker_futex_wake(&generation->number, wake);
}

static inline uint32_t generation_now(const struct generation *generation)
{
	return __atomic_load_n(&generation->number, __ATOMIC_ACQUIRE);
}

/* When `seen` was advanced, if it was; of what is known no more, the first that is. */
static inline const uint64_t *generation_stamp(const struct generation *generation, uint32_t seen)
{
	uint32_t now = generation_now(generation), next = seen + 1;

	/* the waker may be about to write the next one */
	if (now - next >= GENERATION_STAMPS - 1 && now != seen)
		next = now - (GENERATION_STAMPS - 2);
	return &generation->stamps_ns[next % GENERATION_STAMPS];
}

/* Waits for the next advance. False: stopped. */
static inline bool generation_await(struct worker *worker, const struct generation *generation)
{
	uint32_t seen = generation_now(generation);

	uint64_t began_ns;
	bool blocked;

	if (!worker_await_word(worker, &generation->number, seen, &began_ns, &blocked))
		return false;
	worker_changed(worker, began_ns, blocked ? generation_stamp(generation, seen) : NULL);
	return true;
}

#endif
