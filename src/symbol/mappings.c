// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	ret_mapping->path = line + path;
	return true;
}

static void clear(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		free(mappings->items[i].path);
	mappings->count = 0;
}

int mappings_load(struct mappings *mappings, uint32_t pid)
{
	struct mappings now = {0};
	cleanup_free char *line = NULL;
	size_t room = 0;
	int fd = opener_maps(pid);

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	cleanup_file FILE *file = file_reading(fd);

	if (!file)
		return -ENOMEM;
	while (getline(&line, &room, file) > 0) {
		struct mapping mapping;
		int result = mapping_parse(line, &mapping) ? append(&now, mapping) : 0;

		if (result < 0) {
			mappings_release(&now);
			return result;
		}
	}
	/* one that has ended, and waits for its parent, has none */
	if (!now.count)
		return -ESRCH;
	mappings_release(mappings);
	*mappings = now;
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
	size_t low = 0, high = mappings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mappings->count && mappings->items[low].start <= address
		       ? &mappings->items[low]
		       : NULL;
}

int mapping_open_path(const struct mapping *mapping, uint32_t pid, char path[MAPPING_PATH_BYTES])
{
	return opener_mapping(pid, mapping->start, mapping->end, path);
}

int mapping_open(const struct mapping *mapping, uint32_t pid)
{
	char path[MAPPING_PATH_BYTES];

	return mapping_open_path(mapping, pid, path);
}
