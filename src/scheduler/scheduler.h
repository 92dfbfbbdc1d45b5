/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sched_ext scheduler under test: started or only watched, whether it lives, and its end. */
#ifndef DWELL_SCHEDULER_SCHEDULER_H
#define DWELL_SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "scheduler/log_tail.h"

#define SCHEDULER_NAME_BYTES   128 /* SCX_OPS_NAME_LEN */
#define SCHEDULER_REASON_BYTES 320

enum scheduler_state {
	SCHEDULER_NONE, /* there was none */
	SCHEDULER_ALIVE,
	SCHEDULER_STOPPED, /* by us */
	SCHEDULER_DIED,	   /* ended by itself, or thrown out by the kernel */
};

struct scheduler {
	enum scheduler_state state;
	pid_t pid;			     /* 0: no process to signal */
	int pidfd;			     /* readable when it has ended */
	bool ours;			     /* started here, so ended here */
	bool in_use;			     /* the kernel had taken it into use when we began */
	char name[SCHEDULER_NAME_BYTES];     /* in the kernel; "" where it does not say */
	char *command;			     /* NULL: not started here */
	uint64_t began_ns, ended_ns;	     /* CLOCK_MONOTONIC; 0: not yet */
	char reason[SCHEDULER_REASON_BYTES]; /* of its death, one line */
	bool thrown_out;		     /* that is the kernel's */
	struct log_tail said;		     /* by its program: its exit dump comes last */
	struct log_tail logged;		     /* by the kernel about it */
	int output, log;		     /* where both are read */
	bool reaped;
	int status; /* its wait status then */
	/* Called now and then while minutes may go by; NULL: not. */
	void (*waiting)(void *data);
	void *waiting_data;
};

#define SCHEDULER_INIT                                                                             \
	{                                                                                          \
		.pidfd = -1, .output = -1, .log = -1                                               \
	}

/* The name of the scheduler that the kernel uses now, started here or not; "": none. */
void scheduler_in_use(char *into, size_t room);

/* How many the kernel has taken into use since it booted; 0 also where it does not count. */
uint64_t scheduler_count_enabled(void);

/* One that runs already. -ESRCH: it does not. */
int scheduler_watch(struct scheduler *scheduler, pid_t pid, struct error *error) must_check;

/*
 * Runs `command` (tail separated by spaces) and waits until the kernel has taken its scheduler
 * into use, 10 s at most. What it writes is kept. -ENOTSUP: this kernel has no sched_ext.
 */
int scheduler_start(struct scheduler *scheduler, const char *command,
		    struct error *error) must_check;

/* SIGINT, and SIGKILL if it does not end within 2 s, no matter who started it. */
void scheduler_stop(struct scheduler *scheduler);

/* CPU time of its process so far; 0: there is none, or it has ended. */
uint64_t scheduler_cpu_ns(const struct scheduler *scheduler);

/* Stops it if it is ours, else only lets it go. Forgets everything. */
void scheduler_release(struct scheduler *scheduler);

/*
 * Whether its program catches SIGUSR2: others would be ended by it, and the reason of a stall with
 * them.
 */
bool scheduler_hears(const struct scheduler *scheduler);

/* SIGUSR2, to a program that catches it and never to another. False: it was not sent. */
bool scheduler_alarm(const struct scheduler *scheduler);

/*
 * Reads what was said, and looks whether it lives; when it has just died, waits up to 300 ms for
 * the kernel to log why. True where there is none, or where we stopped it.
 */
bool scheduler_look(struct scheduler *scheduler);

/* Writes what the kernel and the program said of its end into a new file. */
int scheduler_save(const struct scheduler *scheduler, const char *path,
		   struct error *error) must_check;

#endif
