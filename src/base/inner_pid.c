// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/inner_pid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

uint32_t inner_pid(uint32_t pid)
{
	char path[64], line[256];
	uint32_t inner = pid;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	cleanup_file FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		for (char *at = line + 6; *at;) {
			char *end;
			unsigned long number = strtoul(at, &end, 10);

			if (end == at)
				break;
			inner = (uint32_t)number;
			at = end;
		}
	}
	return inner;
}
