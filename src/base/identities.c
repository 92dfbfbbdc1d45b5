// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/identities.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

/* Where it would be if all slots were free. */
static size_t home_of(const struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	uint64_t hash = (start_ns ^ ((uint64_t)tid << 32 | tid)) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(hash >> 32) & (identities->room * 2 - 1);
}

static size_t slot_of(const struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	size_t mask = identities->room * 2 - 1, slot = home_of(identities, tid, start_ns);

	while (identities->slots[slot]) {
		const struct identity *item = &identities->items[identities->slots[slot] - 1];

		if (item->tid == tid && item->start_ns == start_ns)
			break;
		slot = (slot + 1) & mask;
	}
	return slot;
}

static int grow(struct identities *identities)
{
	size_t room = identities->room ? identities->room * 2 : FIRST_ROOM;
	struct identity *items = realloc(identities->items, room * sizeof(*items));

	if (!items)
		return -1;
	identities->items = items;
	identities->room = room;
	/* too few for the room: hash() makes others, or there are none */
	free(identities->slots);
	identities->slots = NULL;
	identities->is_hashed = false;
	return 0;
}

/* All that there are. */
static int hash(struct identities *identities)
{
	if (!identities->slots)
		identities->slots = calloc(identities->room * 2, sizeof(*identities->slots));
	if (!identities->slots)
		return -1;
	identities->is_hashed = true;
	for (size_t i = 0; i < identities->count; i++)
		identities->slots[slot_of(identities, identities->items[i].tid,
					  identities->items[i].start_ns)] = (uint32_t)i + 1;
	return 0;
}

/* Items are in ascending order. */
static size_t find_sorted(const struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	const struct identity *items = identities->items;
	size_t low = 0, high = identities->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < identities->count && items[low].tid == tid && items[low].start_ns == start_ns
		       ? low
		       : IDENTITY_NONE;
}

size_t identities_find(const struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	uint32_t found;

	if (!identities->is_hashed)
		return find_sorted(identities, tid, start_ns);
	found = identities->slots[slot_of(identities, tid, start_ns)];
	return found ? found - 1 : IDENTITY_NONE;
}

/* Behind all others; it is not among them. */
static size_t append(struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	bool was_hashed = identities->is_hashed;

	if (identities->count == identities->room) {
		if (grow(identities) < 0 || (was_hashed && hash(identities) < 0))
			return IDENTITY_NONE;
	}
	identities->items[identities->count] = (struct identity){start_ns, tid};
	if (was_hashed)
		identities->slots[slot_of(identities, tid, start_ns)] =
			(uint32_t)identities->count + 1;
	return identities->count++;
}

size_t identities_add(struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	bool follows = !identities->count || identities->items[identities->count - 1].tid < tid;
	size_t found;

	if (!identities->is_hashed && follows)
		return append(identities, tid, start_ns);
	if (!identities->is_hashed && hash(identities) < 0)
		return IDENTITY_NONE;
	found = identities_find(identities, tid, start_ns);
	return found != IDENTITY_NONE ? found : append(identities, tid, start_ns);
}

/* What is behind it and would have been there moves up, or it would not be found. */
static void free_slot(struct identities *identities, size_t slot)
{
	size_t mask = identities->room * 2 - 1;

	for (size_t next = (slot + 1) & mask; identities->slots[next]; next = (next + 1) & mask) {
		const struct identity *item = &identities->items[identities->slots[next] - 1];
		size_t home = home_of(identities, item->tid, item->start_ns);

		if (((next - home) & mask) < ((next - slot) & mask))
			continue;
		identities->slots[slot] = identities->slots[next];
		slot = next;
	}
	identities->slots[slot] = 0;
}

int identities_replace(struct identities *identities, size_t number, uint32_t tid,
		       uint64_t start_ns)
{
	struct identity *item = &identities->items[number];

	if (!identities->is_hashed && hash(identities) < 0)
		return -ENOMEM;
	free_slot(identities, slot_of(identities, item->tid, item->start_ns));
	*item = (struct identity){start_ns, tid};
	identities->slots[slot_of(identities, tid, start_ns)] = (uint32_t)number + 1;
	return 0;
}

void identities_clear(struct identities *identities)
{
	identities->count = 0;
	if (identities->is_hashed)
		memset(identities->slots, 0, identities->room * 2 * sizeof(*identities->slots));
	identities->is_hashed = false;
}

void identities_release(struct identities *identities)
{
	free(identities->items);
	free(identities->slots);
	*identities = (struct identities){0};
}
