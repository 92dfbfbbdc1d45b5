/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other tools print about threads, added up. Pure: no clock, no I/O. */
#ifndef DWELL_VERIFY_PEER_OUTPUT_H
#define DWELL_VERIFY_PEER_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/identities.h"

/* What tools distinguish. */
enum peer_time {
	PEER_CPU,
	PEER_RUNNABLE,
	PEER_BLOCKED, /* all but these two */
	PEER_OFF_CPU, /* all but the first */
	PEER_TIMES,
};

/* All zeros is empty. */
struct peer_sums {
	struct identities tids;
	uint64_t (*ns)[PEER_TIMES]; /* as `tids` numbers them */
	size_t room;
	uint32_t tid; /* that the next lines are about; 0: none */
};

/* 0 or -ENOMEM. */
int peer_sums_add(struct peer_sums *sums, uint32_t tid, enum peer_time what, uint64_t ns);
/* NULL: nothing has been added for it. */
const uint64_t *peer_sums_find(const struct peer_sums *sums, uint32_t tid);
void peer_sums_release(struct peer_sums *sums);

/*
 * A line of output each, with or without its newline; what says nothing of a thread is passed over.
 * 0 or -ENOMEM.
 */

/* `perf sched timehist`: each of a thread's turns, with what came before it. */
int peer_take_timehist(struct peer_sums *sums, const char *line);
/* `runqlat -L`: a histogram for each thread, from which the middle of each bucket is taken. */
int peer_take_runqlat(struct peer_sums *sums, const char *line);
/* `offcputime`: a sum for each stack of a thread. */
int peer_take_offcputime(struct peer_sums *sums, const char *line);

#endif
