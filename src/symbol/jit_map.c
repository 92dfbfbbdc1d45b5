// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/jit_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/duration.h"
#include "symbol/opener.h"

/* The file may grow without end, and need not be one; what is beyond is not read. */
#define READ_MAX      (64ULL << 20)
#define LINE_BYTES    4096
#define FUNCTIONS_MAX 1000000
#define LOOK_NS	      (250 * NS_PER_MS)
#define OVERLAPS_MAX  1000 /* functions that begin before an address and are looked at */

struct jit_function {
	uint64_t start, end;
	uint64_t reach; /* the furthest end of this one and all before it */
	size_t number;	/* of several at one place the last is there now */
	char *name;
};

static int by_start(const void *left, const void *right)
{
	const struct jit_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int add_line(struct jit_map *map, const char *line)
{
	struct jit_function function = {.number = map->count};
	uint64_t size;
	int name = 0;

	if (map->count == FUNCTIONS_MAX ||
	    sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &function.start, &size, &name) != 2 ||
	    !name || !line[name] || function.start + size < function.start)
		return 0;
	function.end = function.start + size;
	if (array_reserve(&map->functions, &map->room, map->count + 1, sizeof(function)) < 0)
		return -ENOMEM;
	function.name = strndup(line + name, strcspn(line + name, "\n"));
	if (!function.name)
		return -ENOMEM;
	map->functions[map->count++] = function;
	return 0;
}

static int take_lines(struct jit_map *map, FILE *file)
{
	char line[LINE_BYTES];
	int result = 0;

	while (result >= 0 && map->total_bytes < READ_MAX && fgets(line, sizeof(line), file)) {
		size_t length = strlen(line);
		bool ends = length && line[length - 1] == '\n';

		/* a line that is being written comes with the next; one too long is none */
		if (!ends && length + 1 < sizeof(line))
			break;
		map->read_bytes += length;
		map->total_bytes += length;
		if (ends && !map->in_long_line)
			result = add_line(map, line);
		map->in_long_line = !ends;
	}
	return result;
}

static void read_last(const struct jit_map *map, int fd, char into[JIT_MAP_LAST_BYTES])
{
	memset(into, 0, JIT_MAP_LAST_BYTES);
	if (map->read_bytes >= JIT_MAP_LAST_BYTES &&
	    pread(fd, into, JIT_MAP_LAST_BYTES, (off_t)(map->read_bytes - JIT_MAP_LAST_BYTES)) < 0)
		memset(into, 0, JIT_MAP_LAST_BYTES);
}

/* HotSpot writes the whole list again, which is longer each time (jcmd Compiler.perfmap). */
static bool is_same_list(const struct jit_map *map, int fd)
{
	char last[JIT_MAP_LAST_BYTES];

	read_last(map, fd, last);
	return !memcmp(last, map->last, sizeof(last));
}

static void read_more(struct jit_map *map)
{
	struct stat status;
	size_t count = map->count;
	int fd = map->total_bytes < READ_MAX ? opener_jit_map(map->pid) : -1;

	if (fd < 0)
		return;
	cleanup_file FILE *file = file_reading(fd);

	if (!file || fstat(fd, &status) < 0)
		return;
	if ((uint64_t)status.st_size < map->read_bytes || !is_same_list(map, fd)) {
		map->read_bytes = 0;
		map->in_long_line = false;
	}
	if ((uint64_t)status.st_size <= map->read_bytes ||
	    fseeko(file, (off_t)map->read_bytes, SEEK_SET) < 0)
		return;
	if (take_lines(map, file) < 0) {
		/* without memory: those that are known */
	}
	read_last(map, fd, map->last);
	if (map->count > count)
		qsort(map->functions, map->count, sizeof(*map->functions), by_start);
	for (size_t i = 0; map->count > count && i < map->count; i++) {
		uint64_t before = i ? map->functions[i - 1].reach : 0;

		map->functions[i].reach =
			map->functions[i].end > before ? map->functions[i].end : before;
	}
}

static const char *find(const struct jit_map *map, uint64_t address)
{
	const struct jit_function *found = NULL;
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* one that is gone may begin within the one that took its place */
	for (size_t i = low;
	     i > 0 && low - i < OVERLAPS_MAX && map->functions[i - 1].reach > address; i--) {
		const struct jit_function *function = &map->functions[i - 1];

		if (address < function->end && (!found || function->number > found->number))
			found = function;
	}
	return found ? found->name : NULL;
}

size_t jit_map_listed(struct jit_map *map)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (map->pid && now_ns - map->looked_ns >= LOOK_NS) {
		map->looked_ns = now_ns;
		read_more(map);
	}
	return map->count;
}

bool jit_map_has(struct jit_map *map, uint64_t address)
{
	return jit_map_listed(map) && find(map, address);
}

const char *jit_map_find(struct jit_map *map, uint64_t address)
{
	if (map->pid)
		read_more(map);
	return find(map, address);
}

void jit_map_release(struct jit_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		free(map->functions[i].name);
	free(map->functions);
	*map = (struct jit_map){0};
}
