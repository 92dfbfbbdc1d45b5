// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/schedstat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int schedstat_open(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
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
