// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/recording_upgrade.h"

#include <stddef.h>
#include <string.h>

/* Version 1 knew these, and no stolen or interrupt time; a thread that ended had the next number.
 */
#define STATES_1	 10

#define NEW_STATES_BYTES ((WIRE_STATES - STATES_1) * sizeof(__u64))

/* What has been inserted since then, filled with zeros. Offsets are today's. */
static const struct insertion {
	__u16 kind;
	size_t at, bytes;
} insertions[] = {
	{WIRE_THREAD, offsetof(struct wire_thread, totals.ns) + STATES_1 * sizeof(__u64),
	 NEW_STATES_BYTES},
	{WIRE_EXIT, offsetof(struct wire_thread, totals.ns) + STATES_1 * sizeof(__u64),
	 NEW_STATES_BYTES},
	{WIRE_STALL, offsetof(struct wire_stall, states_ns) + STATES_1 * sizeof(__u64),
	 NEW_STATES_BYTES},
	{WIRE_INTERVAL, offsetof(struct wire_interval, losses.clamped), sizeof(__u64)},
	{WIRE_INTERVAL, offsetof(struct wire_interval, machine_stolen_ns), 2 * sizeof(__u64)},
};

static size_t size_of(__u16 kind)
{
	switch (kind) {
	case WIRE_THREAD:
	case WIRE_EXIT:
		return sizeof(struct wire_thread);
	case WIRE_STALL:
		return sizeof(struct wire_stall);
	case WIRE_INTERVAL:
		return sizeof(struct wire_interval);
	case WIRE_WORKER:
		return sizeof(struct wire_worker);
	}
	return 0;
}

static void upgrade_where(struct wire_wait_site *where)
{
	if (where->state == STATES_1)
		where->state = WIRE_STATES;
}

const struct wire_header *recording_upgrade_1(const struct wire_header *record,
					      union recording_upgraded *room)
{
	const char *from = (const char *)record;
	size_t size = size_of(record->kind), grown = 0, at = 0;
	char *into = (char *)room;

	for (size_t i = 0; i < sizeof(insertions) / sizeof(insertions[0]); i++)
		grown += insertions[i].kind == record->kind ? insertions[i].bytes : 0;
	if (!size || record->size != size - grown)
		return record;
	for (size_t i = 0; i < sizeof(insertions) / sizeof(insertions[0]); i++) {
		const struct insertion *insertion = &insertions[i];

		if (insertion->kind != record->kind)
			continue;
		memcpy(into + at, from, insertion->at - at);
		from += insertion->at - at;
		memset(into + insertion->at, 0, insertion->bytes);
		at = insertion->at + insertion->bytes;
	}
	memcpy(into + at, from, size - at);
	room->header.size = (__u32)size;
	if (record->kind == WIRE_THREAD || record->kind == WIRE_EXIT)
		upgrade_where(&room->thread.where);
	else if (record->kind == WIRE_STALL)
		upgrade_where(&room->stall.longest);
	else if (record->kind == WIRE_WORKER)
		upgrade_where(&room->worker.where);
	return &room->header;
}

_Static_assert(RECORDING_1_THREAD_BYTES + NEW_STATES_BYTES == sizeof(struct wire_thread) &&
		       RECORDING_1_THREAD_TID + NEW_STATES_BYTES ==
			       offsetof(struct wire_thread, tid),
	       "what version 1 had");
