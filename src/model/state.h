/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The states of a thread: eleven of Thread State Analysis (Gregg, Systems Performance, 2nd ed., ch.
 * 5), and two for the time in which it had a CPU that did not work for it. At any instant a thread
 * is in exactly one, so over an interval its states sum to the time it existed.
 */
#ifndef DWELL_MODEL_STATE_H
#define DWELL_MODEL_STATE_H

#include <stdbool.h>

#include "bpf/wire.h"

/* Names only what the wire does not: the two halves of WIRE_ON_CPU. The rest is WIRE_WAITS. */
#define ON_CPU_STATES(X)                                                                           \
	X(USER, 0, "user", "USER", "on a CPU, in user mode")                                       \
	X(KERNEL, 0, "kernel", "SYS", "on a CPU, in the kernel")

enum state {
#define X(name, number, key, header, help) STATE_##name,
	ON_CPU_STATES(X) WIRE_WAITS(X)
#undef X
		STATES,
};

struct state_info {
	const char *key;    /* in JSON, CSV and options */
	const char *header; /* of a column */
	const char *help;
};

extern const struct state_info state_info[STATES];

/* In the order of columns for people: what takes CPU time from a thread beside each other. */
extern const enum state state_columns[STATES];

/* Of a column of percentages: its heading, or "100", with a space before it. */
static inline int state_column_width(enum state state)
{
	return state == STATE_STOLEN ? 6 : 5;
}

/* A waiting state of the wire (not WIRE_ON_CPU). */
static inline enum state state_of_wait(__u8 wire_state)
{
	return (enum state)(wire_state - WIRE_RUNNABLE + STATE_RUNNABLE);
}

/*
 * 1 << enum state: a thread waits, and for what is recognized; what may be any of these is in
 * STATE_UNKNOWN.
 */
#define STATES_RECOGNIZED                                                                          \
	(1U << STATE_DISK | 1U << STATE_NET | 1U << STATE_IPC | 1U << STATE_LOCK |                 \
	 1U << STATE_SWAP | 1U << STATE_SLEEP | 1U << STATE_IDLE)
#define STATES_BLOCKED (STATES_RECOGNIZED | 1U << STATE_UNKNOWN)

static inline bool state_is_blocked(enum state state)
{
	return STATES_BLOCKED & 1U << state;
}

/* The other way; user and kernel are WIRE_ON_CPU both. */
static inline __u8 wire_of_state(enum state state)
{
	return state <= STATE_KERNEL ? WIRE_ON_CPU : (__u8)(state - STATE_RUNNABLE + WIRE_RUNNABLE);
}

#endif
