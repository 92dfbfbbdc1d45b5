/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event loop that blocks in some of its turns and times each of them itself, against what
 * `dwell blocked` reports of it: every such turn, with its cause, and no other one.
 */
#ifndef DWELL_VERIFY_TURNS_H
#define DWELL_VERIFY_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURNS_NAME	   "event-loop"
#define TURNS_HELP	   "an event loop blocks in some of its turns, by dwell blocked"
#define TURNS_THRESHOLD_NS 10000000ULL
#define TURNS_MAX	   1024

enum turn_cause {
	TURN_GOOD, /* it did not block */
	TURN_SLEEP,
	TURN_CPU,
	TURN_IPC,
	TURN_LOCK,
	TURN_CAUSES,
};

struct timed_turn {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC, by the loop itself */
	enum turn_cause cause;
};

/* A stall as `dwell blocked` reports it. */
struct reported_stall {
	uint64_t start_ns, duration_ns;
	char cause[16];
};

struct turns_judgement {
	unsigned int turns;	   /* that blocked, in the time that dwell watched */
	unsigned int found, right; /* of these, as stalls; with the right cause */
	unsigned int wrong;	   /* stalls of turns that did not block */
	double error_percent;	   /* the largest of a duration, in percent of it */
	char why[160];		   /* something is wrong; empty: nothing */
};

/*
 * Pure. What the machine did to a turn (`stolen`, `runnable`, `irq`) is true whatever the turn did:
 * neither wrong nor right.
 */
void turns_judge(struct turns_judgement *ret_judgement, const struct timed_turn *turns,
		 size_t turn_count, const struct reported_stall *stalls, size_t stall_count,
		 uint64_t from_ns, uint64_t to_ns);

struct pattern_result;
struct verification;

/* Runs both. Their verdict is in `pattern`, their counts in `result`. */
void turns_run(struct verification *result, struct pattern_result *pattern, unsigned int round);

#endif
