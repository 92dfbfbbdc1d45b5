// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "load/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"

#define STATE_FILE "/sys/kernel/sched_ext/state" /* Linux 6.12: disabled, enabling, enabled, … */
#define START_S	   10
#define STOP_MS	   2000
#define POLL_MS	   20 /* the state file does not wake who polls it */
#define WORDS	   64

static bool is_enabled(void)
{
	char state[32] = "";
	cleanup_file FILE *file = fopen(STATE_FILE, "re");

	return file && fscanf(file, "%31s", state) == 1 && !strcmp(state, "enabled");
}

int scheduler_watch(struct scheduler *scheduler, pid_t pid, struct error *error)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return error_set(error, errno, "the scheduler, process %d: %s", pid,
				 strerror(errno));
	*scheduler = (struct scheduler){.pid = pid, .pidfd = fd};
	return 0;
}

_Noreturn static void become(char *const words[])
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(words[0], words);
	dprintf(STDERR_FILENO, "dwell load: cannot run %s: %s\n", words[0], strerror(errno));
	_exit(127);
}

static int await_enabled(const struct scheduler *scheduler, const char *command,
			 struct error *error)
{
	uint64_t deadline_ns = clock_monotonic_ns() + START_S * 1000000000ULL;

	while (!is_enabled()) {
		struct pollfd end = {.fd = scheduler->pidfd, .events = POLLIN};

		if (clock_monotonic_ns() >= deadline_ns)
			return error_set(error, ETIMEDOUT,
					 "the scheduler '%s' was not taken into use within %d s",
					 command, START_S);
		if (poll(&end, 1, POLL_MS) > 0)
			return error_set(error, ESRCH, "the scheduler '%s' ended before it began",
					 command);
	}
	return 0;
}

int scheduler_start(struct scheduler *scheduler, const char *command, struct error *error)
{
	cleanup_free char *copy = strdup(command);
	char *words[WORDS + 1], *rest = copy, *word;
	size_t count = 0;
	pid_t pid;
	int result;

	if (access(STATE_FILE, R_OK) < 0)
		return error_set(error, ENOTSUP,
				 "this kernel has no sched_ext, so it cannot run '%s'", command);
	if (scheduler->pid)
		return error_set(error, EBUSY,
				 "process %d is the scheduler already: stop-scheduler first",
				 scheduler->pid);
	/* it would be taken for ours */
	if (is_enabled())
		return error_set(error, EBUSY,
				 "another sched_ext scheduler is in use, so '%s' cannot be",
				 command);
	if (!copy)
		return error_set(error, ENOMEM, "out of memory");
	while ((word = strsep(&rest, " \t")))
		if (*word && count < WORDS)
			words[count++] = word;
	words[count] = NULL;
	if (!count)
		return error_set(error, EINVAL, "the scheduler's command is empty");
	pid = fork();
	if (!pid)
		become(words);
	if (pid < 0)
		return error_set(error, errno, "cannot fork: %s", strerror(errno));
	result = scheduler_watch(scheduler, pid, error);
	if (result < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return result;
	}
	scheduler->ours = true;
	result = await_enabled(scheduler, command, error);
	if (result < 0)
		scheduler_stop(scheduler);
	return result;
}

void scheduler_stop(struct scheduler *scheduler)
{
	struct pollfd end = {.fd = scheduler->pidfd, .events = POLLIN};

	if (scheduler->ours) {
		kill(scheduler->pid, SIGINT);
		if (poll(&end, 1, STOP_MS) <= 0)
			kill(scheduler->pid, SIGKILL);
		waitpid(scheduler->pid, NULL, 0);
		kill(-scheduler->pid, SIGKILL);
	}
	if (scheduler->pidfd >= 0)
		close(scheduler->pidfd);
	*scheduler = (struct scheduler)SCHEDULER_NONE;
}

bool scheduler_alarm(const struct scheduler *scheduler)
{
	return syscall(SYS_pidfd_send_signal, scheduler->pidfd, SIGUSR2, NULL, 0) == 0;
}

bool scheduler_alive(const struct scheduler *scheduler)
{
	struct pollfd end = {.fd = scheduler->pidfd, .events = POLLIN};

	if (!scheduler->pid)
		return true;
	/* a program may well survive the scheduler that it loaded */
	return poll(&end, 1, 0) == 0 && (!scheduler->ours || is_enabled());
}
