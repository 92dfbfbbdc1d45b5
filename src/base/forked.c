// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "base/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"

void forked_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* it may have died before */
	if (getppid() != parent)
		_exit(127);
}

void forked_prepare(pid_t parent, int out, int error)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	forked_end_with(parent);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	descriptors_restore();
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
}

int forked_keep_only(int *const *fds, size_t count)
{
	int next = STDERR_FILENO + 1;
	/* above what is kept, so that a move does not end another one of them */
	int above = next + (int)count;

	for (size_t i = 0; i < count; i++) {
		int aside = fcntl(*fds[i], F_DUPFD, above);

		if (aside < 0)
			return -errno;
		*fds[i] = aside;
	}
	for (size_t i = 0; i < count; i++, next++) {
		if (dup3(*fds[i], next, O_CLOEXEC) < 0)
			return -errno;
		*fds[i] = next;
	}
	if (syscall(SYS_close_range, next, ~0U, 0) < 0)
		for (long i = sysconf(_SC_OPEN_MAX); --i >= next;)
			close((int)i); /* before Linux 5.9 */
	return 0;
}

void forked_silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
		dup2(null, i);
	if (null > STDERR_FILENO)
		close(null);
}

int forked_await(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void forked_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	forked_await(pid);
}
