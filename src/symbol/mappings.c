// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "symbol/opener.h"

static int append(struct mappings *mappings, struct mapping mapping)
{
	if (array_reserve(&mappings->items, &mappings->room, mappings->count + 1, sizeof(mapping)) <
	    0)
		return -ENOMEM;
	mapping.path = strdup(mapping.path);
	if (!mapping.path)
		return -ENOMEM;
	mappings->items[mappings->count++] = mapping;
	return 0;
}

bool mapping_parse(char *line, struct mapping *ret_mapping)
{
	unsigned int major, minor;
	char executable;
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2c%c%*c %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &ret_mapping->start, &ret_mapping->end, &executable, &ret_mapping->offset,
		   &major, &minor, &ret_mapping->inode, &path) != 7 ||
	    executable != 'x')
		return false;
	ret_mapping->device = (uint64_t)major << 32 | minor;
	ret_mapping->time_ns = 0;
	ret_mapping->path = line + path;
	return true;
}

static void clear(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		free(mappings->items[i].path);
	mappings->count = 0;
}

int mappings_read(struct mappings *mappings, FILE *file)
{
	cleanup_free char *line = NULL;
	struct mapping mapping;
	size_t room = 0;

	while (getline(&line, &room, file) > 0)
		if (mapping_parse(line, &mapping) && append(mappings, mapping) < 0)
			return -ENOMEM;
	return 0;
}

void mapping_write(const struct mapping *mapping, FILE *file)
{
	fprintf(file, "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %x:%x %" PRIu64 " ", mapping->start,
		mapping->end, mapping->offset, (unsigned int)(mapping->device >> 32),
		(unsigned int)mapping->device, mapping->inode);
	for (const char *at = mapping->path; *at; at++) {
		if (*at == '\n')
			fputs("\\012", file);
		else
			fputc(*at, file);
	}
	fputc('\n', file);
}

/* Before the item at `place`. */
static int insert(struct mappings *mappings, size_t place, struct mapping mapping)
{
	int result = append(mappings, mapping);
	struct mapping *items = mappings->items;

	if (result < 0)
		return result;
	mapping = items[mappings->count - 1];
	memmove(items + place + 1, items + place, (mappings->count - 1 - place) * sizeof(items[0]));
	items[place] = mapping;
	return 0;
}

static void begin_at(struct mapping *mapping, uint64_t start)
{
	mapping->offset += mapping->inode ? start - mapping->start : 0;
	mapping->start = start;
}

/* The first that ends behind an address. */
static size_t find_place(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int mappings_overlay(struct mappings *mappings, const struct mapping *mapping)
{
	size_t place = find_place(mappings, mapping->start);

	while (place < mappings->count && mappings->items[place].start < mapping->end) {
		struct mapping *old = &mappings->items[place];
		struct mapping rest = *old;

		if (old->start < mapping->start && old->end > mapping->end) {
			begin_at(&rest, mapping->end);
			if (insert(mappings, place + 1, rest) < 0)
				return -ENOMEM;
			mappings->items[place++].end = mapping->start;
		} else if (old->start < mapping->start) {
			old->end = mapping->start;
			place++;
		} else if (old->end > mapping->end) {
			begin_at(old, mapping->end);
		} else {
			free(old->path);
			memmove(old, old + 1,
				(--mappings->count - place) * sizeof(mappings->items[0]));
		}
	}
	return insert(mappings, place, *mapping);
}

#define KNOWN_DEVICES 16

/*
 * The subvolumes of a btrfs have the same inode numbers, and /proc/PID/maps shows one device for
 * them all; stat(2) shows one for each. Whether it does so is the same for all files of a device.
 */
static void find_subvolume(struct mapping *mapping, uint32_t pid)
{
	static _Thread_local uint64_t whole[KNOWN_DEVICES]; /* 0: none */
	static _Thread_local unsigned int count;
	uint64_t device = mapping->device;
	struct stat file;

	/* a disk's number is not shared out */
	if (!mapping->inode || !device || device >> 32)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (whole[i] == device)
			return;
	cleanup_close int fd = mapping_open(mapping, pid);

	if (fd < 0 || fstat(fd, &file) < 0)
		return;
	mapping->device = (uint64_t)major(file.st_dev) << 32 | minor(file.st_dev);
	if (mapping->device == device)
		whole[count++ % ARRAY_SIZE(whole)] = device;
}

/* Closes the descriptor. 0 or -ENOMEM. */
static int load(struct mappings *mappings, int fd, uint32_t pid, uint64_t time_ns)
{
	cleanup_file FILE *file = file_reading(fd);

	if (!file || mappings_read(mappings, file) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < mappings->count; i++)
		mappings->items[i].time_ns = time_ns;
	for (size_t i = 0; i < mappings->count; i++)
		find_subvolume(&mappings->items[i], pid);
	return 0;
}

int mappings_load(struct mappings *mappings, uint32_t pid, uint64_t time_ns)
{
	struct mappings loaded = {0};
	int fd = opener_maps(pid, time_ns), result;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	result = load(&loaded, fd, pid, time_ns);
	/* one that has ended, and waits for its parent, has none */
	if (result == 0 && !loaded.count)
		result = -ESRCH;
	if (result < 0) {
		mappings_release(&loaded);
		return result;
	}
	mappings_release(mappings);
	*mappings = loaded;
	return 0;
}

int mappings_move(struct mappings *mappings, uint32_t pid, uint64_t from_ns, uint64_t time_ns)
{
	cleanup_mappings struct mappings different = {0};
	int fd = opener_maps_differences(pid, from_ns, time_ns);

	if (fd < 0)
		return -ENOENT;
	if (load(&different, fd, pid, time_ns) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < different.count; i++)
		if (mappings_overlay(mappings, &different.items[i]) < 0)
			return -ENOMEM;
	/* all of it was there then, and the history may no longer know what was before */
	for (size_t i = 0; i < mappings->count; i++)
		mappings->items[i].time_ns = time_ns;
	return 0;
}

void mappings_release(struct mappings *mappings)
{
	clear(mappings);
	free(mappings->items);
	*mappings = (struct mappings){0};
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t place = find_place(mappings, address);

	return place < mappings->count && mappings->items[place].start <= address
		       ? &mappings->items[place]
		       : NULL;
}

int mapping_open_path(const struct mapping *mapping, uint32_t pid, char path[MAPPING_PATH_BYTES])
{
	return opener_mapping(pid, mapping->time_ns, mapping->start, mapping->end, path);
}

int mapping_open(const struct mapping *mapping, uint32_t pid)
{
	char path[MAPPING_PATH_BYTES];

	return mapping_open_path(mapping, pid, path);
}
