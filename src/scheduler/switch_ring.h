/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switches and wakeups of all threads of the machine, of the last seconds: the kernel keeps them in
 * a ring (tracefs, in an instance of our own), and nothing reads them until something has failed.
 * Under a scheduler that is being tested this is what there is to be looked at: which thread was
 * put down when, and who ran instead.
 */
#ifndef DWELL_SCHEDULER_SWITCH_RING_H
#define DWELL_SCHEDULER_SWITCH_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define SWITCH_COMM_BYTES 16

enum switch_kind {
	SWITCH_TO,	/* the CPU goes from `from` to `to` */
	SWITCH_WAKE,	/* `to` may run from now on; the CPU is the waker's */
	SWITCH_MIGRATE, /* `to` waits for another CPU: `cpu` from now on */
};

struct switch_event {
	uint64_t at_ns; /* CLOCK_MONOTONIC, in steps of 1 us */
	uint32_t cpu;
	enum switch_kind kind;
	uint32_t from, to; /* tids, of the first pid namespace; 0: the CPU is idle */
	char from_state;   /* what `from` is now: 'R' it could run on, else as in ps(1) */
	char from_comm[SWITCH_COMM_BYTES], to_comm[SWITCH_COMM_BYTES];
};

struct switches {
	struct switch_event *items; /* by time */
	size_t count, room;
	uint64_t lost; /* events of the window that did not fit, the oldest */
};

struct switch_ring;

/* Begins to keep them. NULL, or why it cannot be: a text of static storage. */
const char *switch_ring_open(struct switch_ring **ret_ring);

/* What happens from now on is not kept; what has been stays. */
void switch_ring_freeze(struct switch_ring *ring);

/*
 * Since when it has all of them, CLOCK_MONOTONIC: each CPU has a ring of its own, and what switches
 * often overwrites its oldest events early. 0: none has been overwritten, or the kernel does not
 * say.
 */
uint64_t switch_ring_since(const struct switch_ring *ring);

/*
 * Those from `from_ns` to `until_ns`, the SWITCHES_MAX last of them. 0; -ENOMEM; another negative
 * errno: the kernel does not give them.
 */
#define SWITCHES_MAX 200000
int switch_ring_read(const struct switch_ring *ring, uint64_t from_ns, uint64_t until_ns,
		     struct switches *ret_switches) must_check;
void switches_release(struct switches *switches);

/* A line of the file `trace`: false: it has no event that is known. Part of switch_ring_read(). */
bool switch_event_parse(struct switch_event *event, const char *line);

void switch_ring_close(struct switch_ring *ring); /* takes NULL */

#endif
