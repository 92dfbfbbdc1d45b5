/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opened ELF files, by the mapping that led to them; each is read once for all processes. Where
 * programs come and go for months, those used longest ago are closed: what is read of a file takes
 * memory, less than the file has, and one that has been deleted keeps its place on the disk.
 */
#ifndef DWELL_SYMBOL_OBJECTS_H
#define DWELL_SYMBOL_OBJECTS_H

#include "base/duration.h"
#include "symbol/mappings.h"
#include "symbol/object.h"

#define OBJECTS_MAX	  64
#define OBJECTS_BYTES_MAX (96ULL << 20) /* of the files, but for the one used last */
#define OBJECTS_UNUSED_NS (600 * NS_PER_S)

struct objects {
	struct opened {
		uint64_t device, inode;
		uint64_t bytes, used_ns;
		struct object *object; /* NULL: it is not an ELF file, or could not be opened */
	} items[OBJECTS_MAX];
	unsigned int count;
	uint64_t bytes; /* of all */
};

void objects_release(struct objects *objects);

/* NULL if the mapping has no readable ELF file. Valid until the next call. */
struct object *objects_find(struct objects *objects, const struct mapping *mapping, uint32_t pid);

/*
 * Closes files that have been written again in place. Not while a caller has one of them, for which
 * it may look twice.
 */
void objects_close_changed(struct objects *objects);

/* Closes what has not been used for OBJECTS_UNUSED_NS. */
void objects_close_unused(struct objects *objects);

#endif
