// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH, fexecve */
#include "guest/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sandbox.h"

void jail_enter(void)
{
	struct stat kvm;
	gid_t group = 0;
	size_t count = 0;

	if (!stat("/dev/kvm", &kvm) && kvm.st_gid &&
	    (kvm.st_mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP)) {
		group = kvm.st_gid;
		count = 1;
	}
	sandbox_become_nobody(&group, count);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void jail_find(struct jail_program *program, const char *name)
{
	const char *path = getenv("PATH"), *end;

	program->fd = -1;
	if (strchr(name, '/')) {
		snprintf(program->path, sizeof(program->path), "%s", name);
		program->fd = open(name, O_PATH);
		return;
	}
	for (path = path ? path : "/usr/bin:/bin"; path; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		if ((size_t)snprintf(program->path, sizeof(program->path), "%.*s/%s",
				     (int)(end - path), path, name) >= sizeof(program->path) ||
		    access(program->path, X_OK) < 0)
			continue;
		program->fd = open(program->path, O_PATH);
		if (program->fd >= 0)
			return;
	}
	*program->path = '\0';
}

void jail_exec(const struct jail_program *program, char *const arguments[])
{
	errno = ENOENT;
	if (*program->path)
		execv(program->path, arguments);
	/* a directory on the way is not for us to search; by the descriptor it would have a number
	 * as name */
	if (errno == EACCES)
		fexecve(program->fd, arguments, environ);
}
