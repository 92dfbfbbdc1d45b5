/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program started to be watched: it exists, but runs its first instruction only at child_start().
 */
#ifndef DWELL_CAPTURE_CHILD_H
#define DWELL_CAPTURE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct child {
	pid_t pid;    /* 0 = none */
	int pidfd;    /* readable when it has ended */
	int start_fd; /* closing it without a byte makes the child give up */
	int error_fd; /* the errno of a failed exec comes out here; end of file on success */
	bool stopped; /* at its first instruction; child_start() lets it go */
	/* to be set before */
	bool resets_hangup;    /* our parent has not ignored SIGHUP, but we do */
	bool prints_to_stderr; /* also what it would print to standard output */
	uint64_t started_ns;
	/* Processes that it has started, or these have; some may have another parent by now. */
	struct child_started {
		uint32_t pid;
		uint64_t start_ns; /* CLOCK_BOOTTIME, to a clock tick or better */
	} * started;
	size_t started_count, started_room;
};

#define CHILD_NONE                                                                                 \
	{                                                                                          \
		.pidfd = -1, .start_fd = -1, .error_fd = -1                                        \
	}
#define cleanup_child cleanup(child_release)

/* Forks. The child waits for child_start(), and dies with us. */
int child_prepare(struct child *child, char *const argv[], struct error *error) must_check;

/*
 * Forks and executes: it stops before the program's first instruction, with its files mapped, to
 * be looked into. By ptrace, which ends with child_start().
 */
int child_prepare_program(struct child *child, char *const argv[], struct error *error) must_check;

/*
 * After that: where the program is one that runs another in its place (a shell, env, nice,
 * taskset), lets it go until it has, and is stopped at the other's first instruction; but no longer
 * than CHILD_WRAPPER_NS, and not where it ends before: then it is left as it is.
 */
#define CHILD_WRAPPER_NS (1000 * 1000 * 1000ULL)
int child_pass_wrappers(struct child *child, struct error *error) must_check;

/* Lets it go and waits until exec has succeeded or failed. */
int child_start(struct child *child, const char *name, struct error *error) must_check;

/* After pidfd became readable: reaps it. The duration is from child_start() to now. */
int child_reap(struct child *child, int *ret_wait_status, uint64_t *ret_duration_ns) must_check;

/*
 * Was seen, and may run on when the one that started it has ended: then it is no descendant any
 * more, but ends in child_release() all the same. 0 or -ENOMEM.
 */
int child_add_started(struct child *child, uint32_t pid, uint64_t start_ns) must_check;

/* Kills what still runs and its descendants, reaps it, and closes. */
void child_release(struct child *child);

#endif
