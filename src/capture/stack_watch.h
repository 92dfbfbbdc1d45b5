/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware breakpoints on words of a thread's stack: the first write to one runs a program, and
 * ends the watch. It costs the thread one trap, and can be set within microseconds, where a probe
 * has to wait for the kernel's grace periods.
 */
#ifndef DWELL_CAPTURE_STACK_WATCH_H
#define DWELL_CAPTURE_STACK_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* As many as x86-64 and arm64 have at least. */
#define STACK_WATCH_WORDS 4

struct stack_watch {
	int fds[STACK_WATCH_WORDS]; /* the first `count` */
	size_t count;
};

/*
 * While this descriptor is open a watch is set in microseconds; else the kernel may have to wait
 * for a grace period until its scheduler looks for events of threads. Or a negative errno.
 */
int stack_watch_ready(void);

/*
 * Addresses of 0 are left out. 0, or a negative errno: with nothing watched; -ENOSPC: others have
 * the breakpoints. To be closed after success.
 */
int stack_watch_open(struct stack_watch *watch, int program_fd, uint32_t tid,
		     const uint64_t words[STACK_WATCH_WORDS]) must_check;
void stack_watch_close(struct stack_watch *watch);

#endif
