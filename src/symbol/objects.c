// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/objects.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/heap.h"

void objects_release(struct objects *objects)
{
	for (unsigned int i = 0; i < objects->count; i++)
		object_free(objects->items[i].object);
	*objects = (struct objects){0};
}

static void close_at(struct objects *objects, unsigned int at)
{
	object_free(objects->items[at].object);
	objects->bytes -= objects->items[at].bytes;
	objects->items[at] = objects->items[--objects->count];
}

static void make_room(struct objects *objects, uint64_t bytes)
{
	unsigned int count = objects->count;

	while (objects->count &&
	       (objects->count == OBJECTS_MAX || objects->bytes + bytes > OBJECTS_BYTES_MAX)) {
		unsigned int oldest = 0;

		for (unsigned int i = 1; i < objects->count; i++)
			if (objects->items[i].used_ns < objects->items[oldest].used_ns)
				oldest = i;
		close_at(objects, oldest);
	}
	if (objects->count < count)
		heap_give_back();
}

void objects_close_unused(struct objects *objects)
{
	unsigned int count = objects->count;
	uint64_t now_ns = clock_monotonic_ns();

	for (unsigned int i = count; i-- > 0;)
		if (now_ns - objects->items[i].used_ns > OBJECTS_UNUSED_NS)
			close_at(objects, i);
	if (objects->count < count)
		heap_give_back();
}

void objects_close_changed(struct objects *objects)
{
	for (unsigned int i = objects->count; i-- > 0;)
		if (objects->items[i].object && object_has_changed(objects->items[i].object))
			close_at(objects, i);
}

struct object *objects_find(struct objects *objects, const struct mapping *mapping, uint32_t pid)
{
	struct opened *item;
	struct stat file;
	int fd;

	if (!mapping->inode)
		return NULL;
	for (unsigned int i = 0; i < objects->count; i++) {
		item = &objects->items[i];
		if (item->inode != mapping->inode || item->device != mapping->device)
			continue;
		item->used_ns = clock_monotonic_ns();
		return item->object;
	}
	/* the process is gone, or not ours to read: another one may have the file mapped too */
	fd = mapping_open(mapping, pid);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &file) < 0)
		file.st_size = 0;
	make_room(objects, (uint64_t)file.st_size);
	item = &objects->items[objects->count++];
	*item = (struct opened){mapping->device, mapping->inode, .used_ns = clock_monotonic_ns()};
	if (object_open(&item->object, fd) < 0)
		item->object = NULL;
	else
		item->bytes = (uint64_t)file.st_size;
	objects->bytes += item->bytes;
	return item->object;
}
