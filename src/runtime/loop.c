// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any event loop: a thread that waits in epoll_wait(), poll(), select() or io_uring_enter().
 * Nothing has to be found in the program; a turn is from the return of the wait to the next one.
 */
#include <stdio.h>

#include "runtime/runtime.h"

static int find(struct runtime_plan *plan, uint32_t pid, const char *symbols, struct error *error)
{
	(void)pid;
	(void)symbols;
	(void)error;
	plan->turns = true;
	/* that there is no other is the reason, if one was looked for */
	if (!*plan->why)
		snprintf(plan->why, sizeof(plan->why), "threads that wait for events are loops");
	return 1;
}

const struct runtime_ops runtime_loop = {
	.name = "loop",
	.summary = "any event loop on epoll, poll, select or io_uring (libuv, Redis, nginx, C)",
	.find = find,
};
