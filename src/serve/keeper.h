/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that work for a daemon which gives up its rights: forked before it does, and another
 * one when they end.
 */
#ifndef DWELL_SERVE_KEEPER_H
#define DWELL_SERVE_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* From one that ends to the next. */
struct keeper_pause {
	unsigned int ms, max_ms; /* twice as long each time, while they end within ten seconds */
};

/* What a process does: `parent` forked it. It must not return. */
typedef void keeper_run(void *data, int socket, pid_t parent);

struct keeper {
	keeper_run *run;
	void *data;
	bool once; /* there is no other one when it ends */
	/* Capabilities of the process between that forks it, and so of the process. */
	const int *rights;
	size_t right_count;
};

/* The daemon's side. */
struct kept {
	int socket; /* SOCK_SEQPACKET; closed on exec */
	pid_t pid;
};

#define KEPT_NONE ((struct kept){.socket = -1})

/* Forks it. With `once` it has all rights that the caller has now. */
int keeper_start(struct kept *kept, const struct keeper *keeper, struct error *error) must_check;

/* Kills it. */
void keeper_end(struct kept *kept);

/*
 * In a process of its own: ignores signals of the terminal and of a service manager, and ends with
 * `parent`.
 */
void keeper_begin(pid_t parent);

/* Forks `run` again and again, and calls `ended`, if not NULL, each time that it has ended. */
void keeper_repeat(keeper_run *run, void *data, int socket, const struct keeper_pause *pause,
		   void (*ended)(void *data, int socket)) __attribute__((noreturn));

#endif
