// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/program_line.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void program_line(uint32_t pid, char *into, size_t room)
{
	char path[64];
	struct stat status;
	ssize_t length = -1;
	size_t used;
	int fd;

	*into = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* by number: a directory of users may be on another machine, and slow */
	if (!fstat(fd, &status) && status.st_uid)
		snprintf(into, room, "uid %u  ", status.st_uid);
	else
		snprintf(into, room, "root  ");
	used = strlen(into);
	length = read(fd, into + used, room - used - 1);
	close(fd);
	if (length < 0)
		length = 0;
	/* arguments end in NUL */
	while (length && !into[used + (size_t)length - 1])
		length--;
	for (ssize_t i = 0; i < length; i++)
		if (!into[used + (size_t)i])
			into[used + (size_t)i] = ' ';
	into[used + (size_t)length] = '\0';
}
