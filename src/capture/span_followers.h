/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that a pool of threads takes turns at (async-io's reactor, the pollers of gRPC): one waits
 * for events, and the others on a condition, until it is their turn or there is a task. That wait
 * is in another function than the one for events, and so is what a handler waits for: it is seen by
 * whose functions are on the way to it from where both ways part.
 */
#ifndef DWELL_CAPTURE_SPAN_FOLLOWERS_H
#define DWELL_CAPTURE_SPAN_FOLLOWERS_H

#include "capture/span_ways.h"

#define FOLLOWED_LOOPS	  16
#define FOLLOWED_STACKS	  64
#define FOLLOWING_THREADS 1024

/* All zeros is empty. */
struct span_followers {
	struct followed_loop {
		uint64_t file; /* the kernel's, which is waited for; 0: free */
		uint32_t tid;  /* of the first that did */
		bool is_shared;
		bool is_known;	     /* where its followers wait */
		bool is_in_function; /* that is in the function that waits for events */
		/* they do so beside the function that waits for events: it is one of a pool's
		   jobs, of which a thread may do many in what seems to be a turn */
		bool is_of_pool;
		uint32_t stacks[FOLLOWED_STACKS]; /* of its waits for events, the last ones */
		size_t noted;			  /* so far */
	} loops[FOLLOWED_LOOPS];
	size_t count; /* loops, so far */
	/* by tid: what it has waited for last, of those of the same remainder */
	struct following_thread {
		uint32_t tid;
		uint64_t file;
	} threads[FOLLOWING_THREADS];
};

/* `tid` waits for events of that file, with this stack. */
void span_followers_note(struct span_followers *followers, uint32_t stack, uint32_t tid,
			 uint64_t file);

/* By the function that waits, `tid` is one that follows in its loop. */
void span_followers_know(struct span_followers *followers, uint32_t tid);

/* Whether it has a loop that others have, too: without a stack, what it waits for is not known. */
bool span_followers_may_follow(const struct span_followers *followers, uint32_t tid);

/* Whether only a single wait of its turns is certain to be one job's. */
bool span_followers_has_jobs(const struct span_followers *followers, uint32_t tid);

enum span_following {
	FOLLOWS_NOT,
	FOLLOWS_MAYBE, /* the program's own functions are on the way, as to a handler */
	FOLLOWS,
};

/* What a thread does that waits on a condition; or, `for_lock`, for a lock, which may be of any. */
enum span_following span_followers_judge(struct span_followers *followers,
					 const struct span_stacks *stacks, uint32_t stack,
					 uint32_t tid, bool for_lock);

#endif
