/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of spans, in their order, some of which wait for the stack they came with. */
#ifndef DWELL_CAPTURE_SPAN_QUEUE_H
#define DWELL_CAPTURE_SPAN_QUEUE_H

#include "capture/span_stacks.h"

#define SPAN_QUEUE_MAX 16384 /* records */

/* All zeros is empty. */
struct span_queue {
	struct span_waiting {
		struct span_waiting *next;
		uint64_t number; /* of the question for its stack; 0: none */
		bool is_answered;
		struct span_found found;
		struct wire_header record; /* and what follows it */
	} * first, *last;
	size_t count;
};

/* Copies `length` bytes of the record. 0, -ENOMEM, or -ENOSPC: it is full. */
int span_queue_add(struct span_queue *queue, const struct wire_header *record, size_t length,
		   uint64_t number) must_check;

/* What has been asked for before `number` and not been answered is answered with nothing. */
void span_queue_answer(struct span_queue *queue, uint64_t number, const struct span_found *found);

/* The first, if it waits for nothing any more, to be freed; NULL: there is none. */
struct span_waiting *span_queue_take(struct span_queue *queue) must_check;

void span_queue_release(struct span_queue *queue);

#endif
