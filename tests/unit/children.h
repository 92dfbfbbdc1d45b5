/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that a test has started, by /proc. */
#ifndef DWELL_UNIT_CHILDREN_H
#define DWELL_UNIT_CHILDREN_H

#include <stdio.h>
#include <sys/types.h>

/* The first child of a process; 0: it has none. */
static inline pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	FILE *file = fopen(path, "re");

	if (file && fscanf(file, "%d", &child) != 1)
		child = 0;
	if (file)
		fclose(file);
	return child;
}

#endif
