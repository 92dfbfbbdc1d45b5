/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sched_ext scheduler that a run starts, or is told of: whether it lives, and its end. */
#ifndef DWELL_LOAD_SCHEDULER_H
#define DWELL_LOAD_SCHEDULER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct scheduler {
	pid_t pid; /* 0: none */
	int pidfd; /* readable when it has ended */
	bool ours; /* started here, so ended here */
};

#define SCHEDULER_NONE                                                                             \
	{                                                                                          \
		.pidfd = -1                                                                        \
	}

/* One that runs already. -ESRCH: it does not. */
int scheduler_watch(struct scheduler *scheduler, pid_t pid, struct error *error) must_check;

/*
 * Runs `command` (words parted by blanks) and waits until the kernel has taken its scheduler into
 * use, 10 s at most. What it writes goes to standard error.
 */
int scheduler_start(struct scheduler *scheduler, const char *command,
		    struct error *error) must_check;

/* SIGINT, and SIGKILL if it does not end within 2 s. One that is not ours is only forgotten. */
void scheduler_stop(struct scheduler *scheduler);

/* SIGUSR2, and never to anybody else. False: it could not be sent. */
bool scheduler_alarm(const struct scheduler *scheduler);

/* False: it has ended, or the kernel has thrown it out. True where there is none. */
bool scheduler_alive(const struct scheduler *scheduler);

#endif
