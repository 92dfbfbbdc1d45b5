// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Peers of work types, with nothing around them, where no package has one.
 *
 * `bench-peers schbench SECONDS THREADS OPERATIONS` is schbench's algorithm, with one message
 * thread and its default footprint (256 KiB), sleep (100 us) and locking. It prints ns of wakeups,
 * p50 and p99, of requests, p50 and p99, and requests per second. Written for this: no code is
 * schbench's own.
 *
 * `bench-peers futex SECONDS`: two processes hand a futex word over. It prints how often a second.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define SAMPLES_MAX 1000000
#define SIDE	    104 /* 3 matrices of 8 bytes a cell: 256 KiB */
#define CPUS_MAX    1024
#define SLEEP_US    100

struct samples {
	uint64_t *values;
	size_t count;
};

/* A message is a futex word that goes from 0 to 1. */
struct thread {
	_Alignas(64) int sent;
	uint64_t woken_ns;
	struct thread *next;
	struct samples wakeups, requests;
	unsigned long *matrices;
};

static struct thread messenger, workers[THREADS_MAX];
static struct thread *asking; /* a list, last come first */
static pthread_mutex_t locks[CPUS_MAX];
static volatile int stopping;
static int operations;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void post(struct thread *thread)
{
	if (!__atomic_exchange_n(&thread->sent, 1, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &thread->sent, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await(struct thread *thread)
{
	while (!__atomic_load_n(&thread->sent, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &thread->sent, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void add(struct samples *samples, uint64_t value)
{
	if (samples->count < SAMPLES_MAX)
		samples->values[samples->count++] = value;
}

static void *message(void *unused)
{
	(void)unused;
	while (!stopping) {
		struct thread *thread;
		uint64_t at_ns;

		__atomic_store_n(&messenger.sent, 0, __ATOMIC_SEQ_CST);
		thread = __atomic_exchange_n(&asking, NULL, __ATOMIC_SEQ_CST);
		at_ns = now_ns();
		while (thread) {
			struct thread *next = thread->next;

			thread->woken_ns = at_ns;
			post(thread);
			thread = next;
		}
		if (!stopping)
			await(&messenger);
	}
	return NULL;
}

static void ask(struct thread *self)
{
	struct thread *first = __atomic_load_n(&asking, __ATOMIC_RELAXED);

	__atomic_store_n(&self->sent, 0, __ATOMIC_SEQ_CST);
	self->woken_ns = now_ns();
	do
		self->next = first;
	while (!__atomic_compare_exchange_n(&asking, &first, self, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	post(&messenger);
	if (!stopping)
		await(self);
	add(&self->wakeups, now_ns() - self->woken_ns);
}

static pthread_mutex_t *lock_cpu(void)
{
	for (;;) {
		int cpu = sched_getcpu();
		pthread_mutex_t *lock = &locks[cpu % CPUS_MAX];

		while (pthread_mutex_trylock(lock))
			;
		if (sched_getcpu() == cpu)
			return lock;
		pthread_mutex_unlock(lock);
	}
}

__attribute__((noinline)) static void multiply(unsigned long *a, unsigned long *b, unsigned long *c)
{
	for (int row = 0; row < SIDE; row++)
		for (int column = 0; column < SIDE; column++) {
			c[row * SIDE + column] = 0;
			for (int k = 0; k < SIDE; k++)
				c[row * SIDE + column] += a[row * SIDE + k] * b[k * SIDE + column];
		}
}

static void *work(void *self_)
{
	struct thread *self = self_;

	while (!stopping) {
		pthread_mutex_t *lock;
		uint64_t began_ns;

		ask(self);
		began_ns = now_ns();
		usleep(SLEEP_US);
		lock = lock_cpu();
		for (int i = 0; i < operations; i++)
			multiply(self->matrices, self->matrices + SIDE * SIDE,
				 self->matrices + 2 * SIDE * SIDE);
		pthread_mutex_unlock(lock);
		add(&self->requests, now_ns() - began_ns);
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank, as dwell has it. */
static void print_percentiles(struct samples *all)
{
	qsort(all->values, all->count, sizeof(*all->values), by_value);
	for (int i = 0; i < 2; i++) {
		size_t rank = (size_t)((double)all->count * (i ? 0.99 : 0.5) + 0.9999999);

		printf("%llu ",
		       all->count ? (unsigned long long)all->values[rank ? rank - 1 : 0] : 0ULL);
	}
}

static void gather(struct samples *into, const struct samples *from)
{
	for (size_t i = 0; i < from->count; i++)
		add(into, from->values[i]);
}

static uint64_t *room(void)
{
	return malloc(SAMPLES_MAX * sizeof(uint64_t));
}

static void hand_over(int *word, int mine, volatile uint64_t *count)
{
	while (!stopping) {
		int now;

		while ((now = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != mine)
			syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
		++*count;
		__atomic_store_n(word, !mine, __ATOMIC_RELEASE);
		syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static int run_futex(unsigned int seconds)
{
	struct {
		_Alignas(64) int word;
		_Alignas(64) volatile uint64_t counts[2];
	} *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	pid_t pids[2];

	if (shared == MAP_FAILED)
		return 1;
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			hand_over(&shared->word, i, &shared->counts[i]);
	}
	sleep(seconds);
	printf("%.1f\n", (double)(shared->counts[0] + shared->counts[1]) / seconds);
	for (int i = 0; i < 2; i++)
		kill(pids[i], SIGKILL);
	return 0;
}

static int run_schbench(int seconds, int count)
{
	struct samples wakeups = {room(), 0}, requests = {room(), 0};
	pthread_t threads[THREADS_MAX + 1];
	size_t done = 0;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	for (int i = 0; i < CPUS_MAX; i++)
		pthread_mutex_init(&locks[i], NULL);
	pthread_create(&threads[0], NULL, message, NULL);
	for (int i = 0; i < count; i++) {
		workers[i].wakeups.values = room();
		workers[i].requests.values = room();
		workers[i].matrices = malloc(3 * SIDE * SIDE * sizeof(unsigned long));
		for (unsigned long k = 0; k < 3 * SIDE * SIDE; k++)
			workers[i].matrices[k] = k; /* pages of its own, or its footprint is one */
		pthread_create(&threads[1 + i], NULL, work, &workers[i]);
	}
	sleep((unsigned int)seconds);
	for (int i = 0; i < count; i++)
		done += workers[i].requests.count;
	stopping = 1;
	post(&messenger);
	pthread_join(threads[0], NULL);
	for (int i = 0; i < count; i++) {
		post(&workers[i]);
		pthread_join(threads[1 + i], NULL);
		gather(&wakeups, &workers[i].wakeups);
		gather(&requests, &workers[i].requests);
	}
	print_percentiles(&wakeups);
	print_percentiles(&requests);
	printf("%.1f\n", (double)done / seconds);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "futex"))
		return run_futex((unsigned int)atoi(argv[2]));
	if (argc != 5 || strcmp(argv[1], "schbench") != 0)
		return 2;
	operations = atoi(argv[4]);
	return run_schbench(atoi(argv[2]), atoi(argv[3]));
}
