/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread waits in poll() for few descriptors, and for something else in between. It may be one of
 * a pool, which waits for jobs and polls in them; or have an event loop, a handler of which waits.
 * Their stacks part in the function that calls both: a pool polls at the end of a long way from
 * there and waits for jobs close by, a loop polls close by, and its handlers are far.
 */
#ifndef DWELL_CAPTURE_SPAN_JOBS_H
#define DWELL_CAPTURE_SPAN_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/span_ways.h"

#define SPAN_JOBS_ASKED 64

/* All zeros is empty. */
struct span_jobs {
	struct span_job {
		uint32_t tid;	/* 0: free */
		uint64_t stack; /* its pointer, where it waited for what may be a job */
		bool is_lock;	/* by the functions that wait, as an interpreter's */
		struct span_way whole, python;
	} asked[SPAN_JOBS_ASKED];
	size_t next;
};

/*
 * Takes one of the two stacks: SPAN_STACK_JOB, or SPAN_STACK_POLL, which answers. True: it was a
 * handler that waited, and *ret_place is where.
 */
bool span_jobs_take(struct span_jobs *jobs, const struct span_stacks *stacks,
		    const struct span_stack *raw, const struct span_found *found,
		    struct loop_park *ret_place);

/* Whether it waits in what is called, by a way so much longer, from where it polls. */
bool span_jobs_is_handler(const struct span_way *poll, const struct span_way *wait,
			  size_t farther_min);

#endif
