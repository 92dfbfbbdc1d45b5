// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* syscall */
#include "load/work/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool swap_word(struct lock *lock, uint32_t from, uint32_t to, int order)
{
	return __atomic_compare_exchange_n(&lock->word, &from, to, false, order, __ATOMIC_RELAXED);
}

static bool try_lock(struct lock *lock)
{
	return swap_word(lock, 0, WORKER_LOCKED, __ATOMIC_ACQUIRE);
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

		if (worker_stopping()) {
			worker_gave_up(worker, blocked_ns ? blocked_ns : began_ns);
			return false;
		}
		if (!worker_lock_wait(&lock->word))
			continue;
		if (!blocked_ns)
			blocked_ns = began_ns;
		if (worker_stopping()) {
			worker_gave_up(worker, blocked_ns);
			return false;
		}
		now_ns = clock_monotonic_ns();
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

/* The kernel restarts it after signals; so only the timeout lets us look at the stop flag. */
static bool wait_pi(struct worker *worker, struct lock *lock)
{
	/* this one futex operation counts by the time of day */
	uint64_t until_ns = clock_realtime_ns() + WORKER_WAIT_NS;
	struct timespec until = clock_timespec(until_ns);

	if (!syscall(SYS_futex, &lock->word, FUTEX_LOCK_PI, 0, &until, NULL, 0))
		return true;
	if (errno == ESRCH)
		worker_fail(worker, "who held the lock is gone");
	else if (errno != ETIMEDOUT && errno != EINTR && errno != EAGAIN)
		worker_fail(worker, "FUTEX_LOCK_PI: %s", strerror(errno));
	return false;
}

bool lock_take_pi(struct worker *worker, struct lock *lock)
{
	uint64_t began_ns, now_ns;

	if (swap_word(lock, 0, (uint32_t)worker->tid, __ATOMIC_ACQUIRE))
		return true;
	began_ns = clock_monotonic_ns();
	while (!wait_pi(worker, lock))
		if (worker_stopping() || *worker->report.work_error) {
			worker_gave_up(worker, began_ns);
			return false;
		}
	now_ns = clock_monotonic_ns();
	worker_woken(worker, __atomic_load_n(&lock->stamp_ns, __ATOMIC_RELAXED), began_ns, now_ns);
	worker_look(worker, now_ns);
	return true;
}

void lock_release_pi(struct worker *worker, struct lock *lock)
{
	worker_stamp(&lock->stamp_ns);
	if (!swap_word(lock, (uint32_t)worker->tid, 0, __ATOMIC_RELEASE))
		syscall(SYS_futex, &lock->word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
}
