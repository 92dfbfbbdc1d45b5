// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "base/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"

void forked_prepare(pid_t parent, int out, int error)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* it may have died before */
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	descriptors_restore();
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
}

void forked_await(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void forked_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	forked_await(pid);
}
