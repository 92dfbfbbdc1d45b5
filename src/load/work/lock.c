// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work/lock.h"

static bool try_lock(struct lock *lock)
{
	uint32_t unlocked = 0;

	return __atomic_compare_exchange_n(&lock->word, &unlocked, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void waited(struct worker *worker, const struct lock *lock, uint64_t began_ns,
		   uint64_t now_ns)
{
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_woken(worker, __atomic_load_n(&lock->stamp_ns, __ATOMIC_RELAXED), began_ns, now_ns);
	worker_look(worker, now_ns);
}

bool lock_take(struct worker *worker, struct lock *lock)
{
	uint64_t blocked_ns = 0; /* since then; 0: it is not */

	while (!try_lock(lock)) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;

		if (worker_stopping())
			return false;
		if (!worker_futex_wait(&lock->word, 1))
			continue;
		if (worker_stopping())
			return false;
		now_ns = clock_monotonic_ns();
		if (!blocked_ns)
			blocked_ns = began_ns;
		/* the look at the stop flag, which every wait has, is no wakeup */
		if (now_ns - began_ns >= WORKER_WAIT_NS)
			continue;
		waited(worker, lock, blocked_ns, now_ns);
		blocked_ns = 0;
	}
	if (blocked_ns)
		waited(worker, lock, blocked_ns, clock_monotonic_ns());
	return true;
}

void lock_release(struct lock *lock)
{
	worker_stamp(&lock->stamp_ns);
	__atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
	worker_futex_wake(&lock->word, 1);
}
