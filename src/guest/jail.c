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

#include "base/program.h"
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
	if (!program_find(name, program->path))
		*program->path = '\0';
	program->fd = *program->path ? open(program->path, O_PATH) : -1;
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
