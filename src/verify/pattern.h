/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways in which threads spend their time, each with threads that measure themselves (meter.h): what
 * `dwell verify` and the tests compare dwell's figures with.
 *
 * A pattern is a process with a few threads; a call is one thread that waits once, and many of them
 * share a process.
 */
#ifndef DWELL_VERIFY_PATTERN_H
#define DWELL_VERIFY_PATTERN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/duration.h"
#include "verify/meter.h"

enum pattern_company {
	PATTERN_BESIDE, /* hardly uses a CPU: may run beside others */
	PATTERN_ALONE,
};

struct pattern {
	const char *name; /* NULL ends a table */
	const char *help;
	enum pattern_company company;
	bool needs_file; /* `path` is a file of PATTERN_FILE_BYTES on a block device */
	void (*run)(const char *path);
};

#define PATTERN_FILE_BYTES (64UL << 20)

extern const struct pattern cpu_patterns[], pair_patterns[], file_patterns[];
/* Those tables, and NULL. */
extern const struct pattern *const pattern_tables[];

/* Could not be had here: prepare() has reported why, by pattern_skip(). */
#define NOT_HERE (-1)

struct call {
	const char *name; /* NULL ends a table */
	enum state state;
	const char *reason; /* as dwell words it; NULL: any will do */
	/* Before any of the threads exists. Its result is the argument of the others. */
	int (*prepare)(void);
	/* Waits until a signal, SIGUSR1 without SA_RESTART, or release() ends it. */
	void (*wait)(int argument);
	void (*release)(int argument); /* NULL: a signal will do */
};

extern const struct call futex_calls[], socket_calls[], ipc_calls[], event_calls[], kernel_calls[];
/* Those tables, and NULL. */
extern const struct call *const call_tables[];

/* In a thread of its own, to its end. */
void pattern_run(const struct pattern *pattern, const char *path);

/* How long each pattern runs, about. */
extern uint64_t pattern_run_ns;

/* Those of the calls that are `wanted` (NULL: all), at once, for pattern_run_ns. */
void calls_run(bool (*wanted)(const void *data, const char *name), const void *data);

/* What runs, or is being prepared, in this process. */
extern const char *pattern_current;

/* Reports "what: " and the errno as the reason for which it does not run. Returns NOT_HERE. */
int pattern_skip(const char *what);

/* For prepare() of what needs nothing. */
int call_prepare_nothing(void);

/* When the pattern is to end, counted from now. */
static inline uint64_t pattern_end_ns(void)
{
	return now_ns() + pattern_run_ns;
}

/* So much later than now, as calls with a time-out of the C library take it: CLOCK_REALTIME. */
static inline struct timespec pattern_deadline(uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / NS_PER_S);
	until.tv_nsec = (long)(ns % NS_PER_S);
	return until;
}

/* A thread of the pattern: runs `body`, which measures itself. */
pthread_t start(void *(*body)(void *), void *data);
void join(pthread_t thread);
/* The same, as a phase in STATE_IDLE. */
void meter_join(struct meter *meter, pthread_t thread);

/* As fork(): the child does not outlive the thread that made it, not even stopped. */
pid_t pattern_fork(void);

/* Keeps the calling thread, and those it starts from now on, on the last CPU. */
void pattern_pin(void);

/* The same, and ends the process. */
_Noreturn void die(const char *what);

#endif
