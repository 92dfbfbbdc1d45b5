// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

int array_reserve(void *items, size_t *room, size_t wanted, size_t item_bytes)
{
	size_t larger = *room ? *room : FIRST_ROOM;
	void *old, *grown;

	if (wanted <= *room)
		return 0;
	while (larger < wanted)
		larger = larger > SIZE_MAX / 2 ? wanted : larger * 2;
	if (larger > SIZE_MAX / item_bytes)
		return -ENOMEM;
	/* not through a void **, which a pointer to another type may not be read by */
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, larger * item_bytes);
	if (!grown)
		return -ENOMEM;
	memcpy(items, &grown, sizeof(grown));
	*room = larger;
	return 0;
}
