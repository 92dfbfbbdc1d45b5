/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of spans, in their order, some of which wait for the stack they came with. */
#ifndef DWELL_CAPTURE_SPAN_QUEUE_H
#define DWELL_CAPTURE_SPAN_QUEUE_H

#include "capture/span_stacks.h"

/* Records; and the questions that have not been asked, with copies of up to 32 KiB. */
#define SPAN_QUEUE_MAX		 16384
#define SPAN_QUEUE_UNASKED_BYTES ((size_t)8 << 20)

/* All zeros is empty. */
struct span_queue {
	struct span_waiting {
		struct span_waiting *next;
		struct span_question *question; /* NULL: none, or it has been asked */
		uint64_t number;		/* of the question; 0: none, or not yet */
		bool is_answered;
		struct span_found found;
		struct wire_header record; /* and what follows it */
	} * first, *last, *unasked;	   /* unasked: the first with a question */
	size_t count, unasked_count, unasked_bytes;
};

/*
 * Copies `length` bytes of the record, and takes the question over, also on failure. 0, -ENOMEM, or
 * -ENOSPC: it is full.
 */
int span_queue_add(struct span_queue *queue, const struct wire_header *record, size_t length,
		   struct span_question *question) must_check;

/* The same of a record whose stack has been asked for. */
int span_queue_add_asked(struct span_queue *queue, const struct wire_header *record, size_t length,
			 uint64_t number) must_check;

/* All that is there gets no answer any more. How many stacks are lost by that. */
size_t span_queue_give_up(struct span_queue *queue);

/* The first, if it waits for nothing any more, to be freed; NULL: there is none. */
struct span_waiting *span_queue_take(struct span_queue *queue) must_check;

/* What is to be done with a record, now that its stack has come or there is none. */
typedef int span_queue_process(void *data, const struct wire_header *record,
			       const struct span_found *found, struct record_sink sink);

/*
 * Processes what waits for nothing any more, in its order, and waits for answers as
 * span_stacks_next() does. 1: nothing is left; 0: something waits; -ENOMEM, or what `process` or
 * the sink say.
 */
int span_queue_pump(struct span_queue *queue, struct span_stacks *stacks, uint64_t deadline_ns,
		    uint64_t single_ns, span_queue_process *process, void *data,
		    struct record_sink sink) must_check;

void span_queue_release(struct span_queue *queue);

#endif
