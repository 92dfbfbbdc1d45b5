/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads of which nothing is known yet: their stacks show whether they are workers, and whether
 * one was in a poll already when we came.
 */
#ifndef DWELL_CAPTURE_SPAN_SEEDS_H
#define DWELL_CAPTURE_SPAN_SEEDS_H

#include "base/identities.h"
#include "capture/span_stacks.h"
#include "capture/spans.h"

/* All zeros is empty, but for the descriptor. */
struct span_seeds {
	int verdicts;		   /* the map */
	struct identities threads; /* (tid, start) */
	struct seed {
		uint64_t start_ns; /* of the thread */
		unsigned int looks;
		bool decided;
		__u8 found_by; /* enum wire_found_by, if decided */
		bool is_root;  /* decided: it runs a root future */
		char comm[17];
		bool doubted; /* it was seen outside of block_on(), and may be inside again */
		uint32_t stack;
		uint64_t since_ns; /* of the state it was looked at in; 0: it ran */
		/* of its spans above the threshold: those that were none, and the longest other */
		uint64_t dropped, longest_ns;
		bool asks; /* it waited for events where a program does for an answer */
	} * items;	   /* by number in threads */
	size_t room;
	struct identities tids; /* alone: the start is 0 */
	size_t *latest;		/* by number in tids: its last number in threads */
	size_t latest_room;
	bool found;	     /* some worker */
	unsigned int rounds; /* of snapshots without one */
};

/* A thread that waits. 1: its stack may say what it is; 0: it cannot; -ENOMEM. */
int span_seeds_meet(struct span_seeds *seeds, const struct span_options *options,
		    const struct span_seed *raw) must_check;

/* What a stack is of. */
struct seed_look {
	uint64_t start_ns; /* of the thread */
	uint64_t since_ns; /* its state began; 0: it ran */
	uint32_t tid;
	bool waits_for_events; /* or is about to */
	bool is_in_turn;       /* if it has a loop: it is in none of the calls that those wait in */
};

/* The stack of a thread. 0 or -ENOMEM. */
int span_seeds_take(struct span_seeds *seeds, const struct span_options *options,
		    const struct seed_look *look, const struct span_found *found) must_check;

bool span_seed_waits_for_events(const struct span_seed *raw);

/*
 * The thread has left its block_on(): what it does now is no root future's. It may come back with
 * the next one: from here on a stack has to show that it has.
 */
void span_seeds_doubt(struct span_seeds *seeds, uint32_t tid);
bool span_seeds_doubted(const struct span_seeds *seeds, uint32_t tid);

/* Whether a thread that was taken for one with a loop only asks there, by the stack of its wait. */
bool span_seeds_asks(const struct span_seeds *seeds, uint32_t tid);

/* A thread that has a loop, or seems to. */
void span_seeds_know(struct span_seeds *seeds, uint32_t tid, uint64_t start_ns);

/* A span above the threshold has ended; `own_ns` 0: it was none, after all. */
void span_seeds_note(struct span_seeds *seeds, uint32_t tid, uint64_t own_ns);

/* Takes those that were none out of what the kernel side has counted. */
void span_seeds_correct(const struct span_seeds *seeds, struct wire_worker *worker);

/* How a worker was found. */
__u8 span_seeds_found_by(struct span_seeds *seeds, const struct span_options *options,
			 const struct span_worker *worker);

/*
 * At the end of a snapshot: if for a second neither a stack nor a poll has shown a worker, the
 * names of threads decide.
 */
void span_seeds_settle(struct span_seeds *seeds, const struct span_options *options);

/*
 * The stack a thread was found with, in a poll that had begun before; with `since_ns`, only if it
 * is still in that state. 0: none.
 */
uint32_t span_seeds_stack(const struct span_seeds *seeds, uint32_t tid, uint64_t since_ns);

void span_seeds_release(struct span_seeds *seeds);

#endif
