// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as /proc/PID/stat. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/proc_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct proc_stat stat;

	memcpy(line, data, size);
	line[size] = '\0';
	if (proc_stat_parse(line, &stat) && stat.state == '\0')
		abort();
	free(line);
	return 0;
}
