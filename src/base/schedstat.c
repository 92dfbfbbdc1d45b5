// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/schedstat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_stat.h"

int schedstat_open(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool schedstat_of(pid_t tid, struct schedstat *ret_schedstat)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && schedstat_read(fd, ret_schedstat);
}

static void add_child(struct children_schedstat *children, int pid)
{
	struct schedstat one;
	struct proc_stat stat;

	if (!schedstat_of(pid, &one))
		return;
	children->sum.cpu_ns += one.cpu_ns;
	children->sum.delay_ns += one.delay_ns;
	children->sum.count += one.count;
	children->any_ready |=
		proc_stat_read((uint32_t)pid, (uint32_t)pid, &stat) && stat.state == 'R';
}

struct children_schedstat schedstat_of_children(pid_t pid)
{
	struct children_schedstat children = {.any_ready = false};
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	cleanup_file FILE *list = fopen(path, "re");

	while (list && fscanf(list, "%d", &child) == 1)
		add_child(&children, child);
	return children;
}

bool schedstat_read(int fd, struct schedstat *ret_schedstat)
{
	char text[128] = "";
	unsigned long long cpu, delay, count;

	if (pread(fd, text, sizeof(text) - 1, 0) < 0 ||
	    sscanf(text, "%llu %llu %llu", &cpu, &delay, &count) != 3)
		return false;
	*ret_schedstat = (struct schedstat){cpu, delay, count};
	return true;
}
