// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/kernel_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

bool kernel_line(const char *path, char *into, size_t room)
{
	cleanup_file FILE *file = fopen(path, "re");

	*into = '\0';
	if (!file || !fgets(into, (int)room, file))
		return false;
	into[strcspn(into, "\n")] = '\0';
	return true;
}

bool kernel_status(uint32_t pid, const char *key, char *into, size_t room)
{
	size_t length = strlen(key);
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	cleanup_file FILE *file = fopen(path, "re");

	*into = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, length) != 0 || line[length] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(into, room, "%s", line + length + 1);
		return true;
	}
	return false;
}
