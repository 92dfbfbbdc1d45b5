// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* getline */
#include "load/work/own_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "load/work_type.h"

/* The first line of a file that has `marker`; NULL: there is none. */
static char *find_line(const char *path, const char *marker)
{
	cleanup_file FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) >= 0)
		if (strstr(line, marker))
			return line;
	free(line);
	return NULL;
}

/* NULL: there is no cgroup v2. */
static char *find_home(void)
{
	cleanup_free char *mount = find_line("/proc/self/mountinfo", " - cgroup2 ");
	cleanup_free char *own = find_line("/proc/self/cgroup", "0::/");
	char at[PATH_MAX], *home = NULL;

	/* the mount point is the fifth word: proc(5) */
	if (!mount || !own || strncmp(own, "0::", 3) != 0 ||
	    sscanf(mount, "%*s %*s %*s %*s %4095s", at) != 1)
		return NULL;
	own[strcspn(own, "\n")] = '\0';
	return asprintf(&home, "%s%s", at, own + 3) < 0 ? NULL : home;
}

char *own_cgroup(struct worker *worker)
{
	char *home;

	if (worker->tid != getpid()) {
		worker_fail(worker, "a cgroup holds whole processes: a thread cannot do this");
		return NULL;
	}
	home = find_home();
	if (!home)
		worker_fail(worker, "there is no cgroup v2 here");
	return home;
}

int own_cgroup_move(const char *procs, pid_t pid)
{
	cleanup_close int fd = open(procs, O_WRONLY | O_CLOEXEC);
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", (int)pid);

	return fd < 0 || write(fd, text, (size_t)length) != length ? -errno : 0;
}
