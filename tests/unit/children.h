/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that a test has started, by /proc. */
#ifndef DWELL_UNIT_CHILDREN_H
#define DWELL_UNIT_CHILDREN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* The child of a process that was started first, or last; 0: it has none. */
static inline pid_t find_child(pid_t pid, bool last)
{
	char path[64];
	int child, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	FILE *file = fopen(path, "re");

	while (file && (!found || last) && fscanf(file, "%d", &child) == 1)
		found = child;
	if (file)
		fclose(file);
	return found;
}

static inline pid_t child_of(pid_t pid)
{
	return find_child(pid, false);
}

/* What this process has just started: a case that failed may have left others. */
static inline pid_t newest_child(void)
{
	return find_child(getpid(), true);
}

#endif
