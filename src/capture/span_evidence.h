/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has been seen of spans that go on: their stacks, and the workers that were started from
 * them, come before their end. Records of many workers interleave.
 */
#ifndef DWELL_CAPTURE_SPAN_EVIDENCE_H
#define DWELL_CAPTURE_SPAN_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/config.h"
#include "bpf/wire.h"
#include "capture/span_stacks.h"

#define SPAN_LAUNCHES	 64
#define SPAN_STACKS_KEPT 8

/* Of the stacks of a span, whether they are those of a poll of a task. */
enum span_in_poll {
	SPAN_IN_POLL_NONE,    /* none is */
	SPAN_IN_POLL_ANY,     /* one is, at least */
	SPAN_IN_POLL_UNKNOWN, /* their functions have no names */
};

/* All zeros but `in_poll`: nothing has been seen. */
struct span_evidence {
	uint32_t tid;	  /* 0: free */
	uint64_t span_ns; /* start of the span */
	/* stacks by the state of the wait they are of */
	uint32_t blocks[WIRE_STATES], wakers[WIRE_STATES];
	bool launched; /* another worker was started from it */
	bool rooted;   /* a block_on() is on a stack */
	bool rootless; /* a stack is whole, and none is on it */
	bool looped;   /* a function of a loop is on a stack, by its name */
	bool loopless; /* a stack is whole, and none is on it */
	enum span_in_poll in_poll;
	__u8 futex; /* SITE_LOCK or SITE_CONDITION: what it is for, by the functions that wait */
	/* the last ones, of waits and of where it ran; 0: there are no more */
	uint32_t stacks[SPAN_STACKS_KEPT];
	size_t stack_count; /* so far */
	/* 1 << states of waits with a block_on() on the stack, and without */
	uint32_t inside, outside;
	/* 1 << states whose wait is that of a loop's follower; or may be, there */
	uint32_t parks, parks_maybe;
	uint64_t park_stacks[WIRE_STATES];
};

/* All zeros is empty. */
struct span_evidences {
	struct span_evidence kept[MAX_WORKERS];
	size_t kept_count; /* from here on all are free */
	/* the last workers that were started: by whom, and when */
	struct span_started {
		uint32_t tid;
		uint64_t time_ns;
	} started[SPAN_LAUNCHES];
	size_t started_count; /* so far */
};

/* A futex that may be waited for as a lock or as a condition. */
bool span_site_is_unknown_futex(struct wire_wait_site site);

/* A thread may leave its block_on(): then what it does is no root future's. */
bool span_signs_are_rootless(const struct span_signs *signs);

/* Of the span of `tid` that began at span_ns. NULL: there is no room to keep it. */
struct span_evidence *span_evidences_of(struct span_evidences *evidences, uint32_t tid,
					uint64_t span_ns);

/* Takes out what is kept of the span that has ended. */
struct span_evidence span_evidences_remove(struct span_evidences *evidences,
					   const struct span_end *end);

/* `id`: of the stack. */
void span_evidence_note_wait(struct span_evidence *evidence, const struct span_stack *raw,
			     const struct span_signs *signs, uint32_t id);

/* Any stack but that of a waker says whether the span is a poll, and of a root future. */
void span_evidence_note_stack(struct span_evidence *evidence, const struct span_signs *signs);

/* The id of such a stack. */
void span_evidence_note_id(struct span_evidence *evidence, uint32_t id);

/* Long before the end of the span it belongs to. */
void span_evidences_note_launch(struct span_evidences *evidences, const struct span_launch *launch);

/* Whether a worker was started in place of this one when it began to wait. */
bool span_evidences_launched(const struct span_evidences *evidences, const struct span_end *end);

#endif
