// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int span_queue_add(struct span_queue *queue, const struct wire_header *record, size_t length,
		   struct span_question *question)
{
	size_t bytes = question ? span_question_bytes(question) : 0;
	struct span_waiting *waiting;

	if (queue->count == SPAN_QUEUE_MAX ||
	    queue->unasked_bytes + bytes > SPAN_QUEUE_UNASKED_BYTES) {
		free(question);
		return -ENOSPC;
	}
	waiting = malloc(offsetof(struct span_waiting, record) + length);
	if (!waiting) {
		free(question);
		return -ENOMEM;
	}
	memset(waiting, 0, offsetof(struct span_waiting, record));
	waiting->question = question;
	memcpy(&waiting->record, record, length);
	if (queue->last)
		queue->last->next = waiting;
	else
		queue->first = waiting;
	queue->last = waiting;
	queue->count++;
	queue->unasked_count += question != NULL;
	queue->unasked_bytes += bytes;
	if (question && !queue->unasked)
		queue->unasked = waiting;
	return 0;
}

int span_queue_add_asked(struct span_queue *queue, const struct wire_header *record, size_t length,
			 uint64_t number)
{
	int result = span_queue_add(queue, record, length, NULL);

	if (result == 0)
		queue->last->number = number;
	return result;
}

/* The next one with a question. */
static void advance(struct span_queue *queue)
{
	queue->unasked_bytes -= span_question_bytes(queue->unasked->question);
	free(queue->unasked->question);
	queue->unasked->question = NULL;
	queue->unasked_count--;
	while (queue->unasked && !queue->unasked->question)
		queue->unasked = queue->unasked->next;
}

/* Asks what has not been asked, in the order of the records, as long as there is room. */
static void span_queue_ask(struct span_queue *queue, struct span_stacks *stacks)
{
	while (queue->unasked) {
		const struct span_question *question = queue->unasked->question;
		uint64_t number = span_stacks_ask(stacks, question);

		if (!number)
			return;
		queue->unasked->number = number;
		advance(queue);
	}
}

size_t span_queue_give_up(struct span_queue *queue)
{
	size_t lost = 0;

	while (queue->unasked) {
		lost++;
		advance(queue);
	}
	for (struct span_waiting *waiting = queue->first; waiting; waiting = waiting->next) {
		lost += waiting->number && !waiting->is_answered;
		waiting->is_answered = true;
	}
	return lost;
}

/* What has been asked for before `number` and not been answered is answered with nothing. */
static void span_queue_answer(struct span_queue *queue, uint64_t number,
			      const struct span_found *found)
{
	for (struct span_waiting *waiting = queue->first; waiting; waiting = waiting->next) {
		if (waiting->number > number || waiting->question)
			break;
		if (!waiting->number || waiting->is_answered)
			continue;
		waiting->is_answered = true;
		if (waiting->number == number)
			waiting->found = *found;
	}
}

struct span_waiting *span_queue_take(struct span_queue *queue)
{
	struct span_waiting *waiting = queue->first;

	if (!waiting || waiting->question || (waiting->number && !waiting->is_answered))
		return NULL;
	queue->first = waiting->next;
	if (!queue->first)
		queue->last = NULL;
	queue->count--;
	return waiting;
}

void span_queue_release(struct span_queue *queue)
{
	while (queue->first) {
		struct span_waiting *next = queue->first->next;

		free(queue->first->question);
		free(queue->first);
		queue->first = next;
	}
	*queue = (struct span_queue){0};
}

int span_queue_pump(struct span_queue *queue, struct span_stacks *stacks, uint64_t deadline_ns,
		    uint64_t single_ns, span_queue_process *process, void *data,
		    struct record_sink sink)
{
	for (;;) {
		struct span_waiting *waiting;
		struct span_found found;
		uint64_t number;
		int result = 0;

		if (span_stacks_ended(stacks))
			stacks->lost += span_queue_give_up(queue);
		span_queue_ask(queue, stacks);
		while (result >= 0 && (waiting = span_queue_take(queue))) {
			result = process(data, &waiting->record, &waiting->found, sink);
			free(waiting);
		}
		if (result < 0)
			return result;
		if (!queue->first)
			return 1;
		result = span_stacks_next(stacks, deadline_ns, single_ns, &number, &found, sink);
		if (result <= 0)
			return result;
		span_queue_answer(queue, number, &found);
	}
}
