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

/* Documentation/admin-guide/cgroup-v2.rst: "max", or a number, in both. */
static void take_directory(struct own_limits *limits, const char *directory)
{
	uint64_t quota, period, most, used;
	char text[64];

	if (read_file(directory, "cpu.max", text) &&
	    sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period &&
	    (quota + period - 1) / period < limits->cpus)
		limits->cpus = (unsigned int)((quota + period - 1) / period);
	if (!read_file(directory, "memory.max", text) || sscanf(text, "%" SCNu64, &most) != 1 ||
	    !read_file(directory, "memory.current", text) || sscanf(text, "%" SCNu64, &used) != 1)
		return;
	if (limits->memory_bytes > (most > used ? most - used : 0))
		limits->memory_bytes = most > used ? most - used : 0;
}

void own_limits_read_at(struct own_limits *ret_limits, const char *mount, const char *path)
{
	char directory[PATH_MAX];
	size_t root = strlen(mount);

	*ret_limits = (struct own_limits){.memory_bytes = UINT64_MAX, .cpus = UINT_MAX};
	if (snprintf(directory, sizeof(directory), "%s%s", mount, path) >= (int)sizeof(directory))
		return;
	while (strlen(directory) > root) {
		take_directory(ret_limits, directory);
		*strrchr(directory, '/') = '\0';
	}
	/* of a cgroup namespace it has limits, too */
	take_directory(ret_limits, mount);
}

void own_limits_read(struct own_limits *ret_limits)
{
	cleanup_file FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX], mount[PATH_MAX], *path = NULL;

	*ret_limits = (struct own_limits){.memory_bytes = UINT64_MAX, .cpus = UINT_MAX};
	while (file && !path && fgets(line, sizeof(line), file))
		if (!strncmp(line, "0::/", 4))
			path = line + 3;
	if (!path || !mount_find("cgroup2", NULL, mount, sizeof(mount)))
		return;
	path[strcspn(path, "\n")] = '\0';
	own_limits_read_at(ret_limits, mount, path);
}
