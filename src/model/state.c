// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/state.h"

const struct state_info state_info[STATES] = {
#define X(name, number, key, header, help) [STATE_##name] = {key, header, help},
	ON_CPU_STATES(X) WIRE_WAITS(X)
#undef X
};

const enum state state_columns[] = {
	STATE_USER,  STATE_KERNEL, STATE_RUNNABLE, STATE_STOLEN,  STATE_IRQ,
	STATE_DISK,  STATE_NET,	   STATE_IPC,	   STATE_LOCK,	  STATE_SWAP,
	STATE_SLEEP, STATE_IDLE,   STATE_STOPPED,  STATE_UNKNOWN,
};
_Static_assert(sizeof(state_columns) == STATES * sizeof(*state_columns), "a column for each state");

/* state_of_wait() counts on both lists having the same order without gaps. */
#define X(name, number, key, header, help)                                                         \
	_Static_assert(STATE_##name - STATE_RUNNABLE == WIRE_##name - WIRE_RUNNABLE, #name);
WIRE_WAITS(X)
#undef X
_Static_assert(STATES - STATE_RUNNABLE == WIRE_STATES - WIRE_RUNNABLE, "a state without a number");
