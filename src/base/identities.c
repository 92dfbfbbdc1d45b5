// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/identities.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

static size_t slot_of(const struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	size_t mask = identities->room * 2 - 1;
	uint64_t hash = (start_ns ^ ((uint64_t)tid << 32 | tid)) * 0x9e3779b97f4a7c15ULL;
	size_t slot = (size_t)(hash >> 32) & mask;

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
	uint32_t *slots = calloc(room * 2, sizeof(*slots));
	struct identity *items = realloc(identities->items, room * sizeof(*items));

	if (items)
		identities->items = items;
	if (!items || !slots) {
		free(slots);
		return -1;
	}
	free(identities->slots);
	identities->slots = slots;
	identities->room = room;
	for (size_t i = 0; i < identities->count; i++)
		slots[slot_of(identities, items[i].tid, items[i].start_ns)] = (uint32_t)i + 1;
	return 0;
}

size_t identities_find(const struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	uint32_t found =
		identities->room ? identities->slots[slot_of(identities, tid, start_ns)] : 0;

	return found ? found - 1 : IDENTITY_NONE;
}

size_t identities_add(struct identities *identities, uint32_t tid, uint64_t start_ns)
{
	size_t found = identities_find(identities, tid, start_ns);

	if (found != IDENTITY_NONE)
		return found;
	if (identities->count == identities->room && grow(identities) < 0)
		return IDENTITY_NONE;
	found = identities->count++;
	identities->items[found] = (struct identity){start_ns, tid};
	identities->slots[slot_of(identities, tid, start_ns)] = (uint32_t)found + 1;
	return found;
}

void identities_clear(struct identities *identities)
{
	identities->count = 0;
	if (identities->slots)
		memset(identities->slots, 0, identities->room * 2 * sizeof(*identities->slots));
}

void identities_release(struct identities *identities)
{
	free(identities->items);
	free(identities->slots);
	*identities = (struct identities){0};
}
