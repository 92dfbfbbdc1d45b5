// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/recording_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SIZE_MAX_BYTES 65536 /* of a record of one size */

#define SIZES(interval, thread, stall)                                                             \
	{                                                                                          \
		[WIRE_SESSION] = 208, [WIRE_INTERVAL] = interval, [WIRE_THREAD] = thread,          \
		[WIRE_EXIT] = thread, [WIRE_DELAYS] = 216, [WIRE_CHILD] = 288,                     \
		[WIRE_MISSING] = 272, [WIRE_REASON] = 48, [WIRE_WORKER] = 104,                     \
		[WIRE_STALL] = stall, [WIRE_SAMPLE] = 48, [WIRE_RUNTIME] = 112,                    \
	}

/* What was written then, whatever today's are. */
const struct recording_layout recording_layout_1 = {.states = 10, .sizes = SIZES(96, 392, 224)};
const struct recording_layout recording_layout_2 = {.states = 12, .sizes = SIZES(120, 408, 240)};

const struct recording_layout recording_layout_here = {
	.states = WIRE_STATES,
	.sizes =
		{
			[WIRE_SESSION] = sizeof(struct wire_session),
			[WIRE_INTERVAL] = sizeof(struct wire_interval),
			[WIRE_THREAD] = sizeof(struct wire_thread),
			[WIRE_EXIT] = sizeof(struct wire_thread),
			[WIRE_DELAYS] = sizeof(struct wire_delays),
			[WIRE_CHILD] = sizeof(struct wire_child),
			[WIRE_MISSING] = sizeof(struct wire_missing),
			[WIRE_REASON] = sizeof(struct wire_reason),
			[WIRE_WORKER] = sizeof(struct wire_worker),
			[WIRE_STALL] = sizeof(struct wire_stall),
			[WIRE_SAMPLE] = sizeof(struct wire_sample),
			[WIRE_RUNTIME] = sizeof(struct wire_runtime),
			[WIRE_HOLDER] = sizeof(struct wire_holder),
			[WIRE_SPENT] = sizeof(struct wire_spent),
			[WIRE_PROFILE] = sizeof(struct wire_profile),
			[WIRE_POLLS] = sizeof(struct wire_polls),
			[WIRE_MEMBER] = sizeof(struct wire_member),
		},
};

/* Where a kind has its times by state; 0: it has none. */
static size_t states_at(__u16 kind)
{
	switch (kind) {
	case WIRE_THREAD:
	case WIRE_EXIT:
		return offsetof(struct wire_thread, totals.ns);
	case WIRE_STALL:
		return offsetof(struct wire_stall, states_ns);
	}
	return 0;
}

static struct wire_wait_site *wait_site(union recording_laid_out *record)
{
	switch (record->header.kind) {
	case WIRE_THREAD:
	case WIRE_EXIT:
		return &record->thread.site;
	case WIRE_STALL:
		return &record->stall.longest;
	case WIRE_WORKER:
		return &record->worker.site;
	}
	return NULL;
}

struct recording_layout_record recording_layout_record(void)
{
	struct recording_layout_record record = {
		.header = {.size = sizeof(record), .kind = RECORDING_LAYOUT},
		.states = recording_layout_here.states,
		.count = RECORDING_KINDS,
	};

	memcpy(record.sizes, recording_layout_here.sizes, sizeof(recording_layout_here.sizes));
	return record;
}

size_t recording_layout_tid(const struct recording_layout *layout)
{
	return offsetof(struct wire_thread, tid) -
	       (recording_layout_here.states - layout->states) * sizeof(__u64);
}

/* What differences are taken of has its identity where it is looked for. */
static bool is_possible(const struct recording_layout *layout)
{
	if (!layout->states || layout->states > recording_layout_here.states ||
	    layout->sizes[WIRE_THREAD] != layout->sizes[WIRE_EXIT] ||
	    layout->sizes[WIRE_THREAD] < recording_layout_tid(layout) + sizeof(__u32) ||
	    layout->sizes[WIRE_DELAYS] < offsetof(struct wire_delays, tid) + sizeof(__u32) ||
	    layout->sizes[WIRE_STALL] <
		    offsetof(struct wire_stall, states_ns) + layout->states * sizeof(__u64))
		return false;
	for (size_t kind = 0; kind < RECORDING_KINDS; kind++)
		if (layout->sizes[kind] > SIZE_MAX_BYTES || layout->sizes[kind] % 8 ||
		    (layout->sizes[kind] && layout->sizes[kind] < sizeof(struct wire_header)))
			return false;
	return true;
}

int recording_layout_read(struct recording_layout *layout, const struct wire_header *record)
{
	const struct recording_layout_record *from = (const void *)record;
	size_t head = offsetof(struct recording_layout_record, sizes);

	*layout = (struct recording_layout){0};
	if (record->size < head || from->count > (record->size - head) / sizeof(*from->sizes))
		return -EBADMSG;
	layout->states = from->states;
	for (size_t kind = 0; kind < RECORDING_KINDS && kind < from->count; kind++)
		layout->sizes[kind] = from->sizes[kind];
	return is_possible(layout) ? 0 : -EBADMSG;
}

/* As much of it as both have room for. */
static void copy(void *into, size_t room, const void *from, size_t length)
{
	memcpy(into, from, length < room ? length : room);
}

/* What version 1 did not have in the middle of an interval: zeros, as version 2 has it. */
static void fill_interval_1(char *into, const char *from)
{
	const size_t clamped = offsetof(struct wire_interval, losses.clamped);
	const size_t machine = offsetof(struct wire_interval, machine_stolen_ns);

	memcpy(into, from, clamped);
	memcpy(into + clamped + sizeof(__u64), from + clamped, machine - clamped - sizeof(__u64));
}

static void fill(char *into, size_t room, const char *from, size_t size, __u16 kind, size_t states)
{
	size_t known = states_at(kind) + states * sizeof(__u64);
	size_t ours = states_at(kind) + recording_layout_here.states * sizeof(__u64);

	if (!states_at(kind)) {
		copy(into, room, from, size);
		return;
	}
	memcpy(into, from, known);
	copy(into + ours, room - ours, from + known, size - known);
}

const struct wire_header *recording_lay_out(const struct wire_header *record,
					    const struct recording_layout *layout,
					    union recording_laid_out *room)
{
	const struct recording_layout *here = &recording_layout_here;
	__u16 kind = record->kind;
	size_t size = kind < RECORDING_KINDS ? layout->sizes[kind] : 0;
	struct wire_wait_site *site;

	if (!size || record->size != size || !here->sizes[kind] ||
	    (layout->states == here->states && size == here->sizes[kind]))
		return record;
	memset(room, 0, sizeof(*room));
	if (kind == WIRE_INTERVAL && layout == &recording_layout_1)
		fill_interval_1((char *)room, (const char *)record);
	else
		fill((char *)room, here->sizes[kind], (const char *)record, size, kind,
		     layout->states);
	room->header.size = here->sizes[kind];
	site = wait_site(room);
	/* the number after the last state stands for a thread that has ended */
	if (site && site->state == layout->states)
		site->state = (__u8)here->states;
	return &room->header;
}
