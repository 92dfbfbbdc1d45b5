/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a worker was frozen by ops. The parent writes the times, the worker asks how long it was
 * frozen up to an instant, at any moment: also between a look at the clock and what it compares it
 * with, and without waiting for the parent, which may have lost its CPU in the middle of a write.
 */
#ifndef DWELL_LOAD_PAUSES_H
#define DWELL_LOAD_PAUSES_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC */
struct pause {
	uint64_t began_ns;
	uint64_t ended_ns;  /* 0: not yet */
	uint64_t before_ns; /* how long all earlier ones were */
};

/* All zeros at first, and shared by two processes. */
struct pauses {
	struct pause last[2]; /* that of `count`, and the one before it */
	uint64_t count;
};

/* By the one who freezes and thaws. */
void pauses_begin(struct pauses *pauses, uint64_t now_ns);
void pauses_end(struct pauses *pauses, uint64_t now_ns);

/*
 * How long it has been frozen up to `now_ns`. Where a freeze has begun since that was read, it is
 * read again: a clock of before a freeze has nothing to say of what came after.
 */
uint64_t pauses_until(const struct pauses *pauses, uint64_t *now_ns);

/* Whether a pause falls into the last `ns`. */
bool pauses_touch(const struct pauses *pauses, uint64_t ns);

#endif
