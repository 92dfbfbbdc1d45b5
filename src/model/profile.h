/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code each state's time was spent in. Pure.
 *
 * The totals are those of the accounts, by thread and state; stacks only divide them. Of the times
 * off a CPU, each that was chosen stands for its length / the probability with which it was
 * (Horvitz and Thompson 1952), samples on a CPU stand for equal parts. Its own length is known;
 * what it stands for beside itself is scaled to what is left of the account's total, so that shares
 * of that are ratios of two such sums (Särndal, Swensson and Wretman, "Model Assisted Survey
 * Sampling", 5.6 and 7.3; choices are independent, as in Poisson sampling). What no stack stands
 * for is not spread over threads, states or code: it is not sampled.
 *
 * A thread that is shorter than what a stack stands for has none, or one that stands for others
 * beside it. So threads of a program that are expected to have few stacks, by their accounts and
 * not by what they have, are one: their stacks divide the sum of their times.
 */
#ifndef DWELL_MODEL_PROFILE_H
#define DWELL_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/interval.h"
#include "model/stacks.h"
#include "model/state.h"

/* Time in the others passes without anything that a stack could explain. */
#define PROFILE_STATES (((1U << STATES) - 1) & ~(1U << STATE_STOLEN | 1U << STATE_IRQ))
#define PROFILE_STATE_KEYS                                                                         \
	"user, kernel, runnable, disk, net, ipc, lock, swap, sleep, idle, stopped or unknown"

/* What a profile is summed up by; key in options, heading. */
#define PROFILE_GROUPINGS(X)                                                                       \
	X(FUNCTION, "function", "FUNCTION")                                                        \
	X(FILE, "file", "FILE")                                                                    \
	X(LINE, "line", "LINE")                                                                    \
	X(THREAD, "thread", "THREAD")                                                              \
	X(STATE, "state", "")

enum profile_grouping {
#define X(name, key, heading) PROFILE_BY_##name,
	PROFILE_GROUPINGS(X)
#undef X
		PROFILE_GROUPINGS_COUNT,
};

extern const char *const profile_grouping_keys[PROFILE_GROUPINGS_COUNT];
extern const char *const profile_grouping_headings[PROFILE_GROUPINGS_COUNT];

/* A sum of shares, and how uncertain it is. */
struct estimate {
	double ns;
	double variance; /* ns²; of the sampling alone */
};

struct profile_thread {
	uint32_t tid, pid; /* 0: of several threads, processes */
	uint64_t start_ns;
	char comm[17], process[17];
	uint32_t threads; /* whose time it has; 0: that is in another one, or remains theirs */
	uint32_t pooled;  /* of a program, whose stacks it has; 0: it is one thread */
	uint64_t states_ns[STATES];
	uint64_t sampled[STATES]; /* stacks */
};

/* Time of a thread, or of several, in a state, on one stack and for one reason. */
struct profile_path {
	uint32_t thread; /* place among the threads */
	uint32_t stack;	 /* of stacks */
	enum state state;
	struct wire_wait_site site; /* why: reason_format() */
	uint64_t count;		    /* stacks */
	uint64_t shared;	    /* of them, that a path in another state has too */
	struct estimate time;
};

/* Time in a state by what paths have in common. */
struct profile_spot {
	uint32_t frame;	 /* one of those summed up; 0: it has no stack that is known */
	uint32_t thread; /* PROFILE_BY_THREAD: its place among the threads + 1; else 0 */
	enum state state;
	uint32_t threads; /* that have some of it */
	uint64_t count;	  /* stacks it is on */
	/* self: it is the function that the time is named by (profile_own_frame()) */
	struct estimate self, total;
};

struct profile_state {
	uint64_t total_ns;
	uint64_t sampled_ns; /* of it, what stacks stand for */
	uint64_t count;	     /* stacks */
	/* not seen by a stack: what stacks stand for, and what of the accounts that became */
	double unseen_ns, scaled_ns;
};

struct profile;

struct profile *profile_new(void); /* NULL: no memory */
void profile_free(struct profile *profile);

/* Frames, stacks, and times. 0, -ENOMEM, or -EBADMSG for a record that cannot be. */
int profile_feed(struct profile *profile, const struct wire_header *record) must_check;

/*
 * Of a part of a recording: what is before it is passed over, all but frames and stacks, then it
 * begins (CLOCK_MONOTONIC).
 */
void profile_pass(struct profile *profile, const struct wire_header *record);
void profile_begin(struct profile *profile, uint64_t begin_ns);

/* An interval by thread. 0 or -ENOMEM. */
int profile_add_interval(struct profile *profile, const struct interval *interval) must_check;

/* After the last: what follows is of this. 0 or -ENOMEM. May be called again, after more. */
int profile_end(struct profile *profile) must_check;

/* Those that have no time of their own among them: .threads is 0. Places stay as they are. */
const struct profile_thread *profile_threads(const struct profile *profile, size_t *ret_count);
/* How many there were. */
size_t profile_thread_count(const struct profile *profile);
/* Where the stacks of the thread at that place are in that state. */
size_t profile_row_of(const struct profile *profile, size_t thread, enum state state);
/* The place of a thread among them; IDENTITY_NONE: it is not there. */
size_t profile_find_thread(const struct profile *profile, uint32_t tid, uint64_t start_ns);
/* The largest first. */
const struct profile_path *profile_paths(const struct profile *profile, size_t *ret_count);
const struct profile_state *profile_states(const struct profile *profile); /* STATES of them */
/* The id of its stack among these; 0: there is none. */
uint32_t profile_stack_of(const struct profile *profile, const struct wire_spent *spent);
const struct stacks *profile_stacks(const struct profile *profile);
/* The last one; all zeros: none has come. */
const struct wire_profile *profile_quality(const struct profile *profile);

/* How many stacks its times are of: one of a wait and of the wait for a CPU behind it is one. */
uint64_t profile_stack_count(const struct profile *profile);

/* The share of those taken that reach the thread's start; 0 without any. */
double profile_complete_share(const struct profile *profile);

/* Which time is summed up. */
struct profile_choice {
	uint32_t states; /* 1 << enum state */
	uint32_t thread; /* its place among the threads + 1; 0: all */
};

/* All of them, the largest `self` first. Valid until the next call. 0 or -ENOMEM. */
int profile_spots(struct profile *profile, enum profile_grouping by, struct profile_choice choice,
		  const struct profile_spot **ret_spots, size_t *ret_count) must_check;

/*
 * The frame that a time in that state is named by. In user mode the innermost; else the innermost
 * of the program's own, for all that waits does so in the same few functions of the C library and
 * the kernel. 0: there is none.
 */
uint32_t profile_own_frame(const struct stacks *stacks, uint32_t stack, enum state state);

/* Equal for frames that this grouping by code takes for one; 0: they were made at run time. */
uint64_t profile_name_key(const struct frame *frame, enum profile_grouping by);

/* Of a sample on a CPU. */
static inline enum state spent_state_on_cpu(const struct wire_spent *spent)
{
	return spent->flags & WIRE_SPENT_IN_USER_MODE ? STATE_USER : STATE_KERNEL;
}

/* Whether a record says what can be. */
bool spent_is_possible(const struct wire_spent *spent);

/* A standard error, ns. */
double estimate_error(const struct estimate *estimate);

#endif
