// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/objects.h"

void objects_release(struct objects *objects)
{
	for (unsigned int i = 0; i < objects->count; i++)
		object_free(objects->items[i].object);
	*objects = (struct objects){0};
}

struct object *objects_find(struct objects *objects, const struct mapping *mapping, uint32_t pid)
{
	struct opened *item;
	int fd;

	if (!mapping->inode)
		return NULL;
	for (unsigned int i = 0; i < objects->count; i++) {
		item = &objects->items[i];
		if (item->inode == mapping->inode && item->device == mapping->device)
			return item->object;
	}
	/* the process is gone, or not ours to read: another one may have the file mapped too */
	fd = mapping_open(mapping, pid);
	if (fd < 0)
		return NULL;
	if (objects->count < OBJECTS_MAX) {
		item = &objects->items[objects->count++];
	} else {
		item = &objects->items[objects->next++ % OBJECTS_MAX];
		object_free(item->object);
	}
	*item = (struct opened){mapping->device, mapping->inode, NULL};
	if (object_open(&item->object, fd) < 0)
		item->object = NULL;
	return item->object;
}
