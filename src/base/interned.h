/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Byte strings kept once each, and numbered from 0 on in the order of their arrival. What they hold
 * is others' to choose, so how many there can be has a bound.
 */
#ifndef DWELL_BASE_INTERNED_H
#define DWELL_BASE_INTERNED_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define INTERNED_NONE SIZE_MAX /* no memory */
#define INTERNED_FULL (SIZE_MAX - 1)

/* All zeros but the bound is empty. */
struct interned {
	size_t bytes_max;
	struct interned_item {
		uint64_t hash;
		size_t at, length; /* in `bytes` */
	} * items;
	size_t count, room;
	uint32_t *slots; /* open addressing, twice `room`: number + 1; 0: free */
	size_t slot_count;
	uint8_t *bytes;
	size_t used, bytes_room;
	uint64_t key; /* of the hash: secret, so that no input is made to collide */
};

/* Its number, old or new, or one of the two above. */
size_t interned_add(struct interned *interned, const void *bytes, size_t length) must_check;
/* Of a number that was given; its length. */
const void *interned_get(const struct interned *interned, size_t number, size_t *ret_length);
void interned_release(struct interned *interned);

#endif
