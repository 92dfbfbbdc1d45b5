// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/own_limits.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/kernel_text.h"
#include "base/mount.h"

static bool read_file(const char *directory, const char *name, char into[64])
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return kernel_line(path, into, 64);
}

/* The value of a key in one of the cgroup's files of such; 0 also: there is none. */
static uint64_t value_of(const char *directory, const char *name, const char *key)
{
	char path[PATH_MAX + 64], line[128], found[64];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	cleanup_file FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %" SCNu64, found, &value) == 2 && !strcmp(found, key))
			return value;
	return 0;
}

/* Of what it has in use, the page cache and its like, which the kernel takes back when needed. */
static uint64_t reclaimable(const char *directory)
{
	return value_of(directory, "memory.stat", "inactive_file") +
	       value_of(directory, "memory.stat", "active_file") +
	       value_of(directory, "memory.stat", "slab_reclaimable");
}

/* Documentation/admin-guide/cgroup-v2.rst: "max", or a number, in both. */
static void take_directory(struct own_limits *limits, const char *directory)
{
	uint64_t quota, period, most, used, cached;
	char text[64];

	if (read_file(directory, "cpu.max", text) &&
	    sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period &&
	    (quota + period - 1) / period < limits->cpus)
		limits->cpus = (unsigned int)((quota + period - 1) / period);
	if (!read_file(directory, "memory.max", text) || sscanf(text, "%" SCNu64, &most) != 1 ||
	    !read_file(directory, "memory.current", text) || sscanf(text, "%" SCNu64, &used) != 1)
		return;
	cached = reclaimable(directory);
	used -= cached < used ? cached : used;
	if (limits->memory_bytes > (most > used ? most - used : 0))
		limits->memory_bytes = most > used ? most - used : 0;
}

/* For how long its threads, or those below it, were kept from running by its cpu.max. */
static uint64_t throttled_ns(const char *directory)
{
	return value_of(directory, "cpu.stat", "throttled_usec") * 1000;
}

/* Calls `take` for the cgroup and each above it, up to where the tree is mounted. */
static void each_above(const char *mount, const char *path,
		       void (*take)(void *data, const char *directory), void *data)
{
	char directory[PATH_MAX];
	size_t root = strlen(mount);

	if (snprintf(directory, sizeof(directory), "%s%s", mount, path) >= (int)sizeof(directory))
		return;
	/* that of the tree is mount's own */
	if (directory[strlen(directory) - 1] == '/')
		directory[strlen(directory) - 1] = '\0';
	while (strlen(directory) > root) {
		take(data, directory);
		*strrchr(directory, '/') = '\0';
	}
	/* of a cgroup namespace it has limits, too */
	take(data, mount);
}

static void take_limits(void *data, const char *directory)
{
	take_directory(data, directory);
}

static void take_throttled(void *data, const char *directory)
{
	*(uint64_t *)data += throttled_ns(directory);
}

void own_limits_read_at(struct own_limits *ret_limits, const char *mount, const char *path)
{
	*ret_limits = (struct own_limits){.memory_bytes = UINT64_MAX, .cpus = UINT_MAX};
	each_above(mount, path, take_limits, ret_limits);
}

uint64_t own_throttled_ns_at(const char *mount, const char *path)
{
	uint64_t ns = 0;

	each_above(mount, path, take_throttled, &ns);
	return ns;
}

/* Where it is in the tree of version 2. False: nowhere that can be found. */
static bool find_own(char mount[PATH_MAX], char path[PATH_MAX])
{
	cleanup_file FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, "0::/", 4);
		snprintf(path, PATH_MAX, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	}
	return found && mount_find("cgroup2", NULL, mount, PATH_MAX);
}

void own_limits_read(struct own_limits *ret_limits)
{
	char mount[PATH_MAX], path[PATH_MAX];

	*ret_limits = (struct own_limits){.memory_bytes = UINT64_MAX, .cpus = UINT_MAX};
	if (find_own(mount, path))
		own_limits_read_at(ret_limits, mount, path);
}

uint64_t own_throttled_ns(void)
{
	char mount[PATH_MAX], path[PATH_MAX];

	return find_own(mount, path) ? own_throttled_ns_at(mount, path) : 0;
}
