/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opened ELF files, by the mapping that led to them; each is read once for all processes. */
#ifndef DWELL_SYMBOL_OBJECTS_H
#define DWELL_SYMBOL_OBJECTS_H

#include "symbol/mappings.h"
#include "symbol/object.h"

#define OBJECTS_MAX 64

struct objects {
	struct opened {
		uint64_t device, inode;
		struct object *object; /* NULL: it is not an ELF file, or could not be opened */
	} items[OBJECTS_MAX];
	unsigned int count;
	unsigned int next; /* to be replaced when all are used */
};

void objects_release(struct objects *objects);

/* NULL if the mapping has no readable ELF file. Valid until the next call. */
struct object *objects_find(struct objects *objects, const struct mapping *mapping, uint32_t pid);

#endif
