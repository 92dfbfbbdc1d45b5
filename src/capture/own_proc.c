// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/own_proc.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The link PATH/self; 0: there is none, as where the namespace of the mount does not contain us. */
static long number_of_self(const char *path)
{
	char link[64], number[16] = "";

	snprintf(link, sizeof(link), "%s/self", path);
	return readlink(link, number, sizeof(number) - 1) < 0 ? 0 : strtol(number, NULL, 10);
}

static bool is_mounted(const char *path)
{
	struct statfs status;

	return statfs(path, &status) >= 0 && status.f_type == PROC_SUPER_MAGIC;
}

int own_proc_check(const char *path, struct error *error)
{
	long number = number_of_self(path);

	if (number == getpid())
		return 0;
	if (!number && !is_mounted(path))
		return error_set(error, ENOENT, "/proc is not mounted: mount -t proc proc /proc");
	/* to mount one here would hide the right one from the others of this mount namespace */
	return error_set(error, ESRCH,
			 "/proc shows another pid namespace's processes: enter its mount and pid "
			 "namespaces together (nsenter -m -p), or unshare --mount-proc dwell …");
}
