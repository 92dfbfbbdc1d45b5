// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/delta.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/config.h"

/*
 * A difference keeps the kind, with this bit set; in place of the size, which its family implies,
 * it has the place of the record it refers to, counted from the one after the last referred to.
 */
#define IS_DIFFERENCE 0x8000U

_Static_assert(!(IS_DIFFERENCE & KIND_INTERNAL), "each bit of a kind has one meaning");

struct family {
	size_t size, start, tid; /* offsets of the identity */
};

static struct family family(const struct delta *delta, int number)
{
	const struct recording_layout *layout =
		delta->layout ? delta->layout : &recording_layout_here;

	if (number == DELTA_THREADS)
		return (struct family){layout->sizes[WIRE_THREAD],
				       offsetof(struct wire_thread, start_ns),
				       recording_layout_tid(layout)};
	return (struct family){layout->sizes[WIRE_DELAYS], offsetof(struct wire_delays, start_ns),
			       offsetof(struct wire_delays, tid)};
}

static int family_of(unsigned int kind)
{
	switch (kind) {
	case WIRE_THREAD:
	case WIRE_EXIT:
		return DELTA_THREADS;
	case WIRE_DELAYS:
		return DELTA_DELAYS;
	}
	return -1;
}

static void *item(const struct delta_snapshot *snapshot, const struct family *family, size_t index)
{
	return snapshot->bytes + index * family->size;
}

static uint32_t tid_of(const struct family *family, const void *record)
{
	uint32_t tid;

	memcpy(&tid, (const char *)record + family->tid, sizeof(tid));
	return tid;
}

static uint64_t start_of(const struct family *family, const void *record)
{
	uint64_t start_ns;

	memcpy(&start_ns, (const char *)record + family->start, sizeof(start_ns));
	return start_ns;
}

/* Where the next record is kept; NULL: no memory. */
static void *next_item(struct delta_snapshot *snapshot, const struct family *family)
{
	if (array_reserve(&snapshot->bytes, &snapshot->room, snapshot->count + 1, family->size) < 0)
		return NULL;
	return item(snapshot, family, snapshot->count++);
}

static int keep(struct delta_snapshot *snapshot, const struct family *family, const void *record)
{
	void *into = next_item(snapshot, family);

	if (!into)
		return -ENOMEM;
	memcpy(into, record, family->size);
	return 0;
}

/*
 * The record of the same thread; false: none. Snapshots come sorted by tid; in one that is not,
 * some are not found, and stay whole.
 */
static bool find(const struct delta_snapshot *snapshot, const struct family *family,
		 const void *record, size_t *ret_index)
{
	uint32_t tid = tid_of(family, record);
	size_t low = 0, high = snapshot->count;

	if (snapshot->expected < high &&
	    tid_of(family, item(snapshot, family, snapshot->expected)) == tid) {
		low = snapshot->expected;
	} else {
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (tid_of(family, item(snapshot, family, middle)) < tid)
				low = middle + 1;
			else
				high = middle;
		}
	}
	*ret_index = low;
	return low < snapshot->count && tid_of(family, item(snapshot, family, low)) == tid &&
	       start_of(family, item(snapshot, family, low)) == start_of(family, record);
}

void delta_next(struct delta *delta)
{
	for (int i = 0; i < DELTA_FAMILIES; i++) {
		struct delta_snapshot swap = delta->previous[i];

		delta->previous[i] = delta->present[i];
		delta->previous[i].expected = 0;
		delta->present[i] = swap;
		delta->present[i].count = 0;
	}
}

void delta_clear(struct delta *delta)
{
	for (int i = 0; i < DELTA_FAMILIES; i++)
		delta->previous[i].count = delta->present[i].count = 0;
}

void delta_lay_out(struct delta *delta, const struct recording_layout *layout)
{
	/* room is counted in records, which are of another size now */
	delta_release(delta);
	delta->layout = layout;
}

void delta_release(struct delta *delta)
{
	for (int i = 0; i < DELTA_FAMILIES; i++) {
		free(delta->previous[i].bytes);
		free(delta->present[i].bytes);
	}
	*delta = (struct delta){0};
}

static void difference(void *into, const void *record, const void *before, size_t size)
{
	const __u64 *a = record, *b = before;
	__u64 *result = into;

	for (size_t i = 0; i < size / sizeof(__u64); i++)
		result[i] = a[i] - b[i];
}

int delta_encode(struct delta *delta, const struct wire_header *record, void *into)
{
	int number = family_of(record->kind);
	struct family same;
	struct delta_snapshot *previous;
	struct wire_header *header = into;
	size_t index;

	if (number < 0 || record->size != family(delta, number).size) {
		memcpy(into, record, record->size);
		return 0;
	}
	same = family(delta, number);
	previous = &delta->previous[number];
	if (find(previous, &same, record, &index)) {
		const struct wire_header *before = item(previous, &same, index);

		difference(into, record, before, same.size);
		header->size = (__u32)(index - previous->expected);
		header->kind = (__u16)(record->kind | IS_DIFFERENCE);
		header->cpu = (__u16)(record->cpu - before->cpu);
		previous->expected = index + 1;
	} else {
		memcpy(into, record, same.size);
	}
	return record->kind == WIRE_EXIT ? 0 : keep(&delta->present[number], &same, record);
}

/* The sum, made in the place where the record is kept for the next snapshot. */
static int undo(struct delta *delta, const struct wire_header *from, int number,
		const struct wire_header **ret_record)
{
	const struct family same = family(delta, number);
	struct delta_snapshot *previous = &delta->previous[number];
	struct delta_snapshot *present = &delta->present[number];
	size_t index = previous->expected + (size_t)(__s64)(__s32)from->size;
	const __u64 *a = (const __u64 *)(const void *)from, *b;
	struct wire_header *header;
	__u64 *sum;

	if (index >= previous->count)
		return -EBADMSG;
	sum = next_item(present, &same);
	if (!sum)
		return -ENOMEM;
	b = item(previous, &same, index);
	for (size_t i = 0; i < same.size / sizeof(__u64); i++)
		sum[i] = a[i] + b[i];
	header = (struct wire_header *)(void *)sum;
	header->size = (__u32)same.size;
	header->kind = (__u16)(from->kind & ~IS_DIFFERENCE);
	header->cpu = (__u16)(from->cpu + ((const struct wire_header *)(const void *)b)->cpu);
	previous->expected = index + 1;
	/* its place is used again: it is not met in the next snapshot */
	if (header->kind == WIRE_EXIT)
		present->count--;
	*ret_record = header;
	return 0;
}

long delta_decode(struct delta *delta, const void *from, size_t room,
		  const struct wire_header **ret_record)
{
	const struct wire_header *header = from;
	struct family same = {0};
	int number, result;

	if (room < sizeof(*header))
		return -EBADMSG;
	number = family_of(header->kind & ~IS_DIFFERENCE);
	if (number >= 0)
		same = family(delta, number);
	if (header->kind & IS_DIFFERENCE) {
		if (number < 0 || room < same.size)
			return -EBADMSG;
		result = undo(delta, header, number, ret_record);
		return result < 0 ? result : (long)same.size;
	}
	if (header->size < sizeof(*header) || header->size > room || header->size % 8)
		return -EBADMSG;
	*ret_record = header;
	if (number >= 0 && header->size == same.size && header->kind != WIRE_EXIT &&
	    keep(&delta->present[number], &same, header) < 0)
		return -ENOMEM;
	return (long)header->size;
}
