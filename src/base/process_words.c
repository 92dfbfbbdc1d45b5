// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process_words.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void process_command(uint32_t pid, char *into, size_t room)
{
	char path[64];
	ssize_t length;
	int fd;

	*into = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, into, room - 1);
	close(fd);
	/* arguments end in NUL */
	while (length > 0 && !into[length - 1])
		length--;
	for (ssize_t i = 0; i < length; i++)
		if (!into[i])
			into[i] = ' ';
	into[length > 0 ? length : 0] = '\0';
}

void process_user(uint32_t pid, char *into, size_t room)
{
	char path[64];
	struct stat status;

	*into = '\0';
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &status) < 0)
		return;
	/* by number: a directory of users may be on another machine, and slow */
	if (status.st_uid)
		snprintf(into, room, "uid %u", status.st_uid);
	else
		snprintf(into, room, "root");
}
