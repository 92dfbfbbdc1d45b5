// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/proc_stat.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"

static uint64_t ticks_ns(uint64_t ticks)
{
	static long hertz;

	if (!hertz)
		hertz = sysconf(_SC_CLK_TCK);
	return ticks * (NS_PER_S / (uint64_t)hertz);
}

bool proc_stat_parse(const char *line, struct proc_stat *ret_stat)
{
	const char *name = strchr(line, '('), *end = strrchr(line, ')');
	unsigned long long utime, stime, start;
	size_t length;

	if (!name || !end || end < name)
		return false;
	*ret_stat = (struct proc_stat){0};
	/* fields 3 on: proc(5) */
	if (sscanf(end + 1,
		   " %c %" SCNu32 " %*d %*d %*d %*d %" SCNu32
		   " %*u %*u %*u %*u %llu %llu %*d %*d %*d %" SCNd32 " %*d %*d %llu %*u %*d %*u "
		   "%*u %*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %" SCNu32
		   " %*u %" SCNu32,
		   &ret_stat->state, &ret_stat->parent_pid, &ret_stat->flags, &utime, &stime,
		   &ret_stat->nice, &start, &ret_stat->stack_start, &ret_stat->cpu,
		   &ret_stat->policy) != 10)
		return false;
	length = (size_t)(end - name - 1);
	memcpy(ret_stat->comm, name + 1,
	       length < sizeof(ret_stat->comm) ? length : sizeof(ret_stat->comm));
	ret_stat->utime_ns = ticks_ns(utime);
	ret_stat->stime_ns = ticks_ns(stime);
	ret_stat->start_ns = ticks_ns(start);
	ret_stat->start_ticks = start;
	return true;
}

bool proc_stat_read(uint32_t pid, uint32_t tid, struct proc_stat *ret_stat)
{
	char path[64], line[1024];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/stat", pid, tid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (length <= 0)
		return false;
	line[length] = '\0';
	return proc_stat_parse(line, ret_stat);
}

static bool goes_on(uint32_t pid, uint32_t tid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, tid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

uint32_t proc_living_thread(uint32_t pid)
{
	struct dirent *entry;
	char path[64];

	if (goes_on(pid, pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	cleanup_dir DIR *tasks = opendir(path);

	while (tasks && (entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && goes_on(pid, tid))
			return tid;
	}
	return pid;
}

const char *proc_stat_policy(uint32_t policy)
{
	static const char *const names[] = {
		[0] = "SCHED_OTHER", [1] = "SCHED_FIFO",     [2] = "SCHED_RR",	[3] = "SCHED_BATCH",
		[5] = "SCHED_IDLE",  [6] = "SCHED_DEADLINE", [7] = "SCHED_EXT",
	};

	return policy < ARRAY_SIZE(names) && names[policy] ? names[policy] : "unknown policy";
}
