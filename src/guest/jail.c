// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH, fexecve, setresuid */
#include "guest/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above what distributions and systemd give out, and below 2^31. The pid makes it one's own. */
#define USERS_FROM 2000000000U

#define NOBODY	   65534U

static int become(unsigned int id)
{
	return setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ? -errno : 0;
}

void jail_enter(void)
{
	struct stat kvm;
	gid_t group;
	size_t count = 0;

	if (!geteuid()) {
		if (!stat("/dev/kvm", &kvm) && kvm.st_gid &&
		    (kvm.st_mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP)) {
			group = kvm.st_gid;
			count = 1;
		}
		if (setgroups(count, count ? &group : NULL) < 0 ||
		    (become(USERS_FROM + (unsigned int)getpid()) < 0 && become(NOBODY) < 0)) {
			/* no right to, or no such users: it goes on as it is */
		}
	}
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
