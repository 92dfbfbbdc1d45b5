/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lock of a team, of a futex: unfair, as plain mutexes are. */
#ifndef DWELL_LOAD_WORK_LOCK_H
#define DWELL_LOAD_WORK_LOCK_H

#include "load/worker.h"

/* All zeros is free. */
struct lock {
	_Alignas(64)
		uint32_t word; /* WORKER_LOCKED; with priorities that are inherited: the thread */
	/*
	 * Of the last unlock. Where that was not the one that woke us, but one after it, the
	 * wake-to-run sample is too short.
	 */
	_Alignas(64) uint64_t stamp_ns;
};

/*
 * Samples the waits, from when it blocks until it is woken; without contention there is none.
 * False: stopped, and not held.
 */
bool lock_take(struct worker *worker, struct lock *lock) must_check;
void lock_release(struct lock *lock);

/*
 * The same with a lock whose holder inherits the priority of who waits: FUTEX_LOCK_PI. Only the
 * time from the unlock to running is sampled. Not to be mixed with the above.
 */
bool lock_take_pi(struct worker *worker, struct lock *lock) must_check;
void lock_release_pi(struct worker *worker, struct lock *lock);

#endif
