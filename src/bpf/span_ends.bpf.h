/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a thread's event loop is over, or another thread's from here on. */
#ifndef DWELL_BPF_SPAN_ENDS_BPF_H
#define DWELL_BPF_SPAN_ENDS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/classify.bpf.h"
#include "bpf/spans.bpf.h"

/* The thread's loop is over: it may run another one, or something else. */
static __always_inline void span_loop_ends(struct worker *worker)
{
	worker->past_kind = worker->kind;
	worker->kind = worker->depth = worker->off = 0;
	worker->wait = worker->loop_waits = worker->polled = worker->pure_turns = 0;
	worker->busy_asks = worker->is_busy = 0;
}

/*
 * Where a pool runs a loop, each time by whichever of its threads is free (Jetty's selectors): who
 * has handed it on holds up no one.
 */
static __always_inline bool span_is_taken_over(const struct worker *worker,
					       struct task_struct *task)
{
	__u64 file = worker->loop_file;
	const __u32 *last = span_turns_rotate ? bpf_map_lookup_elem(&loop_waiters, &file) : NULL;

	return last && *last != tid_of(task);
}

/*
 * Whether what the thread's loop waits for has been closed: a job has run that loop, to its end,
 * and what the thread waits for now may be the next (asyncio.run() in a pool of threads). Or
 * another thread has taken the loop over.
 */
static __noinline int span_loop_is_over(struct worker *worker, struct task_struct *task)
{
	if (!worker || !task || worker->kind != SPAN_TURN || !worker->depth ||
	    worker->wait != SPAN_WAIT_EPOLL || !worker->loop_waits ||
	    (!span_is_taken_over(worker, task) &&
	     (__u64)descriptor_file(task, worker->loop_fd) == worker->loop_file))
		return 0;
	span_loop_ends(worker);
	return 1;
}

#endif
