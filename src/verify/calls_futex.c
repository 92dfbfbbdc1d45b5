// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits of the C library, all of them a futex to the kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verify/pattern.h"

#define LOCK_REASON "futex:lock"
#define COND_REASON "futex:cond"

enum {
	PLAIN,
	TIMED,
	FROM_TWO,
	INHERITING, /* made by lock_pi() */
	MUTEXES,
};

static pthread_mutex_t mutexes[MUTEXES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					   PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t for_writer = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t for_reader = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool over; /* under of_condition */
static sem_t semaphore;
static pthread_barrier_t barrier;

/* Later than the pattern ends. */
static struct timespec much_later(void)
{
	return pattern_deadline(3600 * NS_PER_S);
}

/* The argument is which mutex; who prepares has locked it. */
static int lock_mutex(void)
{
	pthread_mutex_lock(&mutexes[PLAIN]);
	return PLAIN;
}

static int lock_timed(void)
{
	pthread_mutex_lock(&mutexes[TIMED]);
	return TIMED;
}

static int lock_from_two(void)
{
	pthread_mutex_lock(&mutexes[FROM_TWO]);
	return FROM_TWO;
}

static int lock_pi(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	errno = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (!errno)
		errno = pthread_mutex_init(&mutexes[INHERITING], &attributes);
	if (!errno)
		errno = pthread_mutex_lock(&mutexes[INHERITING]);
	return errno ? pattern_skip("PTHREAD_PRIO_INHERIT") : INHERITING;
}

static void wait_for_mutex(int argument)
{
	pthread_mutex_lock(&mutexes[argument]);
	pthread_mutex_unlock(&mutexes[argument]);
}

__attribute__((noinline)) static void wait_for_mutex_until(int argument)
{
	struct timespec until = much_later();

	pthread_mutex_timedlock(&mutexes[argument], &until);
}

/* Two waits in one function, whose callers differ: who has learned of the first knows the second.
 */
static void wait_from_two_callers(int argument)
{
	struct timespec until = pattern_deadline(pattern_run_ns / 3);

	if (pthread_mutex_timedlock(&mutexes[argument], &until))
		wait_for_mutex_until(argument);
}

static void unlock_mutex(int argument)
{
	pthread_mutex_unlock(&mutexes[argument]);
}

static int lock_for_writer(void)
{
	return pthread_rwlock_rdlock(&for_writer);
}

static void wait_to_write(int argument)
{
	(void)argument;
	pthread_rwlock_wrlock(&for_writer);
	pthread_rwlock_unlock(&for_writer);
}

static void unlock_for_writer(int argument)
{
	(void)argument;
	pthread_rwlock_unlock(&for_writer);
}

static int lock_for_reader(void)
{
	return pthread_rwlock_wrlock(&for_reader);
}

static void wait_to_read(int argument)
{
	struct timespec until = much_later();

	(void)argument;
	pthread_rwlock_timedrdlock(&for_reader, &until);
}

static void unlock_for_reader(int argument)
{
	(void)argument;
	pthread_rwlock_unlock(&for_reader);
}

static void wait_for_condition(int argument)
{
	(void)argument;
	pthread_mutex_lock(&of_condition);
	while (!over)
		pthread_cond_wait(&condition, &of_condition);
	pthread_mutex_unlock(&of_condition);
}

static void wait_for_condition_until(int argument)
{
	struct timespec until = much_later();

	(void)argument;
	pthread_mutex_lock(&of_condition);
	while (!over)
		pthread_cond_timedwait(&condition, &of_condition, &until);
	pthread_mutex_unlock(&of_condition);
}

static void broadcast(int argument)
{
	(void)argument;
	pthread_mutex_lock(&of_condition);
	over = true;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&of_condition);
}

static int new_semaphore(void)
{
	return sem_init(&semaphore, 0, 0);
}

static void wait_for_semaphore(int argument)
{
	(void)argument;
	sem_wait(&semaphore);
}

static int new_barrier(void)
{
	return pthread_barrier_init(&barrier, NULL, 2);
}

static void wait_at_barrier(int argument)
{
	(void)argument;
	pthread_barrier_wait(&barrier);
}

static pthread_t joined;
static sem_t joined_may_end;

static void *wait_to_end(void *data)
{
	while (sem_wait(&joined_may_end) < 0)
		;
	return data;
}

static int joinable(void)
{
	sem_init(&joined_may_end, 0, 0);
	joined = start(wait_to_end, NULL);
	return 0;
}

static void wait_for_thread(int argument)
{
	(void)argument;
	pthread_join(joined, NULL);
}

static void end_joined(int argument)
{
	(void)argument;
	sem_post(&joined_may_end);
}

/* Since 5.16; the number is the same everywhere. */
#define FUTEX_WAITV_NUMBER 449

static struct {
	uint64_t value, address;
	uint32_t flags, reserved;
} vector[2];
static uint32_t words[2];

static int has_waitv(void)
{
	syscall(FUTEX_WAITV_NUMBER, NULL, 0, 0, NULL, 0);
	if (errno == ENOSYS)
		return pattern_skip("futex_waitv");
	for (int i = 0; i < 2; i++) {
		vector[i].address = (uintptr_t)&words[i];
		vector[i].flags = 2; /* FUTEX_32 */
	}
	return 0;
}

static void wait_for_any(int argument)
{
	(void)argument;
	syscall(FUTEX_WAITV_NUMBER, vector, 2, 0, NULL, 0);
}

const struct call futex_calls[] = {
	{"mutex-lock", STATE_LOCK, LOCK_REASON, lock_mutex, wait_for_mutex, unlock_mutex},
	{"mutex-timed", STATE_LOCK, LOCK_REASON, lock_timed, wait_for_mutex_until, unlock_mutex},
	{"mutex-callers", STATE_LOCK, LOCK_REASON, lock_from_two, wait_from_two_callers,
	 unlock_mutex},
	{"mutex-pi", STATE_LOCK, "futex:pi", lock_pi, wait_for_mutex, unlock_mutex},
	{"rwlock-write", STATE_LOCK, LOCK_REASON, lock_for_writer, wait_to_write,
	 unlock_for_writer},
	{"rwlock-read", STATE_LOCK, LOCK_REASON, lock_for_reader, wait_to_read, unlock_for_reader},
	{"condition", STATE_IDLE, COND_REASON, call_prepare_nothing, wait_for_condition, broadcast},
	{"condition-timed", STATE_IDLE, COND_REASON, call_prepare_nothing, wait_for_condition_until,
	 broadcast},
	{"semaphore", STATE_IDLE, COND_REASON, new_semaphore, wait_for_semaphore, NULL},
	{"barrier", STATE_IDLE, COND_REASON, new_barrier, wait_at_barrier, wait_at_barrier},
	{"thread-join", STATE_IDLE, COND_REASON, joinable, wait_for_thread, end_joined},
	{"futex-waitv", STATE_IDLE, "futex_waitv", has_waitv, wait_for_any, NULL},
	{NULL, STATES, NULL, NULL, NULL, NULL},
};
