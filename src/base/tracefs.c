// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH */
#include "base/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const mount_points[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static int mount_own(void)
{
	cleanup_close int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int mount;

	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return mount < 0 ? -errno : mount;
}

int tracefs_open(void)
{
	int result = 0, own;

	for (size_t i = 0; i < ARRAY_SIZE(mount_points); i++) {
		cleanup_close int root = open(mount_points[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		cleanup_close int events = -1;

		if (root < 0)
			continue;
		/* the directory is there without the file system, too */
		events = openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (events < 0) {
			if (errno == EACCES)
				result = -EACCES;
			continue;
		}
		own = root;
		root = -1;
		return own;
	}
	own = mount_own();
	return own < 0 && result < 0 ? result : own;
}

int tracefs_event(int tracefs, const char *category, const char *name)
{
	char path[128], text[16] = "";
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "events/%s/%s/id", category, name);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) <= 0 || atoi(text) <= 0)
		return -EBADMSG;
	return atoi(text);
}
