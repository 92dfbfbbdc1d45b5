// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int span_queue_add(struct span_queue *queue, const struct wire_header *record, size_t length,
		   uint64_t number)
{
	struct span_waiting *waiting;

	if (queue->count == SPAN_QUEUE_MAX)
		return -ENOSPC;
	waiting = malloc(offsetof(struct span_waiting, record) + length);
	if (!waiting)
		return -ENOMEM;
	memset(waiting, 0, offsetof(struct span_waiting, record));
	waiting->number = number;
	memcpy(&waiting->record, record, length);
	if (queue->last)
		queue->last->next = waiting;
	else
		queue->first = waiting;
	queue->last = waiting;
	queue->count++;
	return 0;
}

void span_queue_answer(struct span_queue *queue, uint64_t number, const struct span_found *found)
{
	for (struct span_waiting *waiting = queue->first; waiting; waiting = waiting->next) {
		if (waiting->number > number)
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

	if (!waiting || (waiting->number && !waiting->is_answered))
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

		free(queue->first);
		queue->first = next;
	}
	*queue = (struct span_queue){0};
}
