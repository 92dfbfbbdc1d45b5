// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/interned.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

static size_t slot_of(const struct interned *interned, uint64_t hash, const void *bytes,
		      size_t length)
{
	size_t mask = interned->slot_count - 1, slot = (size_t)(hash >> 24) & mask;

	for (; interned->slots[slot]; slot = (slot + 1) & mask) {
		const struct interned_item *item = &interned->items[interned->slots[slot] - 1];

		if (item->hash == hash && item->length == length &&
		    !memcmp(interned->bytes + item->at, bytes, length))
			break;
	}
	return slot;
}

static bool grow(struct interned *interned)
{
	struct interned bigger = *interned;

	if (!interned->key)
		bigger.key = hash_secret(interned);
	bigger.slot_count = interned->slot_count ? interned->slot_count * 2 : 512;
	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < interned->count; i++) {
		const struct interned_item *item = &interned->items[i];

		bigger.slots[slot_of(&bigger, item->hash, interned->bytes + item->at,
				     item->length)] = (uint32_t)i + 1;
	}
	free(interned->slots);
	*interned = bigger;
	return true;
}

size_t interned_add(struct interned *interned, const void *bytes, size_t length)
{
	uint64_t hash;
	size_t slot;

	if (interned->count * 2 >= interned->slot_count && !grow(interned))
		return INTERNED_NONE;
	hash = hash_bytes(interned->key, bytes, length);
	slot = slot_of(interned, hash, bytes, length);
	if (interned->slots[slot])
		return interned->slots[slot] - 1;
	if (length > interned->bytes_max - interned->used || interned->count == UINT32_MAX - 1)
		return INTERNED_FULL;
	if (array_reserve(&interned->bytes, &interned->bytes_room, interned->used + length, 1) <
		    0 ||
	    array_reserve(&interned->items, &interned->room, interned->count + 1,
			  sizeof(*interned->items)) < 0)
		return INTERNED_NONE;
	memcpy(interned->bytes + interned->used, bytes, length);
	interned->items[interned->count] = (struct interned_item){hash, interned->used, length};
	interned->used += length;
	interned->slots[slot] = (uint32_t)++interned->count;
	return interned->count - 1;
}

const void *interned_get(const struct interned *interned, size_t number, size_t *ret_length)
{
	const struct interned_item *item = &interned->items[number];

	*ret_length = item->length;
	return interned->bytes + item->at;
}

void interned_release(struct interned *interned)
{
	free(interned->items);
	free(interned->slots);
	free(interned->bytes);
	*interned = (struct interned){.bytes_max = interned->bytes_max};
}
