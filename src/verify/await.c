// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/await.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/forked.h"
#include "base/loop.h"

struct waiting {
	struct loop loop;
	bool interrupted;
};

static int on_end(void *data, struct error *error)
{
	struct waiting *waiting = data;

	(void)error;
	waiting->loop.stop = true;
	return 0;
}

static int on_signal(void *data, struct error *error)
{
	struct waiting *waiting = data;

	waiting->interrupted = true;
	return on_end(data, error);
}

bool await_process(pid_t pid, uint64_t timeout_ns)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct waiting waiting = {.loop = {.epoll_fd = -1}};
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct error error = {""};
	int result = loop_init(&waiting.loop, &error);

	if (result >= 0)
		result = loop_add(&waiting.loop, pidfd, on_end, &waiting, &error);
	if (result >= 0)
		result = loop_add_timer(&waiting.loop, 0, timeout_ns, on_end, &waiting, &error);
	if (result >= 0)
		result = loop_add_signals(&waiting.loop, signals, ARRAY_SIZE(signals), on_signal,
					  &waiting, &error);
	if (result >= 0)
		result = loop_run(&waiting.loop, &error);
	loop_release(&waiting.loop);
	return result >= 0 && !waiting.interrupted;
}

enum verdict await_verdict(pid_t pid)
{
	siginfo_t end = {.si_pid = 0};

	if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 || !end.si_pid)
		return VERDICT_INCONCLUSIVE; /* it goes on */
	return end.si_code == CLD_EXITED ? VERDICT_SKIP : VERDICT_FAIL;
}

pid_t await_start(const char *const *words, int out)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	forked_prepare(parent, out, open("/dev/null", O_WRONLY | O_CLOEXEC));
	execv("/proc/self/exe", (char *const *)(uintptr_t)words);
	_exit(127);
}
