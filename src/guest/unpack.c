// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/forked.h"
#include "base/sandbox.h"
#include "guest/jail.h"

_Noreturn static void become(const char *program, int from, int to, size_t limit_bytes,
			     pid_t parent)
{
	char *const arguments[] = {(char *)program, "-dc", NULL};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct jail_program found;

	jail_find(&found, program);
	/* first: a change of user clears the signal that comes when the parent dies */
	jail_enter();
	forked_prepare(parent, to, null);
	dup2(from, STDIN_FILENO);
	sandbox_limit(RLIMIT_FSIZE, limit_bytes);
	sandbox_limit(RLIMIT_CORE, 0);
	jail_exec(&found, arguments);
	_exit(127);
}

int unpack(const char *program, int from, int to, size_t limit_bytes)
{
	pid_t parent = getpid(), child = fork();
	int status;

	if (!child)
		become(program, from, to, limit_bytes, parent);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return status ? -EIO : 0;
}
