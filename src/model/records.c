// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/records.h"

#include <errno.h>
#include <string.h>

#define FIRST_ROOM 256 /* a power of two */

static size_t slot_of(const struct records *records, uint32_t tid, uint64_t start_ns)
{
	size_t mask = records->room * 2 - 1;
	uint64_t hash = (start_ns ^ ((uint64_t)tid << 32 | tid)) * 0x9e3779b97f4a7c15ULL;
	size_t slot = (size_t)(hash >> 32) & mask;

	while (records->slots[slot]) {
		const struct wire_thread *item = &records->items[records->slots[slot] - 1];

		if (item->tid == tid && item->start_ns == start_ns)
			break;
		slot = (slot + 1) & mask;
	}
	return slot;
}

static void enter(struct records *records, size_t index)
{
	const struct wire_thread *item = &records->items[index];

	records->slots[slot_of(records, item->tid, item->start_ns)] = (uint32_t)index + 1;
}

static int grow(struct records *records)
{
	size_t room = records->room ? records->room * 2 : FIRST_ROOM;
	uint32_t *slots = calloc(room * 2, sizeof(*slots));
	struct wire_thread *items = realloc(records->items, room * sizeof(*items));

	if (items)
		records->items = items;
	if (!items || !slots) {
		free(slots);
		return -ENOMEM;
	}
	free(records->slots);
	records->slots = slots;
	records->room = room;
	for (size_t i = 0; i < records->count; i++)
		enter(records, i);
	return 0;
}

int records_append(struct records *records, const struct wire_thread *thread)
{
	if (records->count == records->room) {
		int result = grow(records);

		if (result < 0)
			return result;
	}
	records->items[records->count++] = *thread;
	return 0;
}

int records_add(struct records *records, const struct wire_thread *thread)
{
	struct wire_thread *same =
		(struct wire_thread *)records_find(records, thread->tid, thread->start_ns);
	int result;

	if (same) {
		*same = *thread;
		return 0;
	}
	result = records_append(records, thread);
	if (result < 0)
		return result;
	enter(records, records->count - 1);
	return 0;
}

const struct wire_thread *records_find(const struct records *records, uint32_t tid,
				       uint64_t start_ns)
{
	uint32_t index = records->room ? records->slots[slot_of(records, tid, start_ns)] : 0;

	return index ? &records->items[index - 1] : NULL;
}

const struct wire_thread *records_find_origin(const struct records *records, uint32_t pid,
					      uint64_t origin_ns)
{
	for (size_t i = 0; i < records->count; i++)
		if (records->items[i].pid == pid && records->items[i].origin_ns == origin_ns)
			return &records->items[i];
	return NULL;
}

void records_clear(struct records *records)
{
	records->count = 0;
	if (records->slots)
		memset(records->slots, 0, records->room * 2 * sizeof(*records->slots));
}

void records_release(struct records *records)
{
	free(records->items);
	free(records->slots);
	*records = (struct records){0};
}
