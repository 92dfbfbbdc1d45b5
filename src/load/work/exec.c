// SPDX-License-Identifier: GPL-2.0-or-later
/* A program in the worker's place: schbench, fio, a build. */
#define _GNU_SOURCE /* wait4 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/program.h"
#include "load/work_type.h"

#define GRACE_NS 2000000000ULL /* between SIGTERM and SIGKILL, of the 5 s there are to report */

struct exec {
	char *command;
};

static const struct param params[] = {
	PARAM(struct exec, command, TEXT, NULL, 0, 0,
	      "program and arguments, quoted as for a shell; its output goes to standard error"),
	{.name = NULL},
};

static int check(const void *params_, struct error *error)
{
	const struct exec *exec = params_;
	char path[PATH_MAX];
	wordexp_t words;
	int result = 0;

	if (!exec->command)
		return error_set(error, EINVAL, "which program? exec:command='schbench -t 4'");
	if (wordexp(exec->command, &words, WRDE_NOCMD) != 0)
		return error_set(error, EINVAL,
				 "'%s' cannot be split into words: an unbalanced quote, or one of "
				 "| & ; < > ( ) { } outside of quotes",
				 exec->command);
	if (!words.we_wordc)
		result = error_set(error, EINVAL, "the command is empty");
	else if (!program_find(words.we_wordv[0], path))
		result = error_set(error, EINVAL, "no program '%s' that could be run",
				   words.we_wordv[0]);
	wordfree(&words);
	return result;
}

/* In the child: nothing of ours but the standard descriptors, signals as any program expects. */
_Noreturn static void become(const struct exec *exec)
{
	wordexp_t words;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	descriptors_restore();
	if (!wordexp(exec->command, &words, WRDE_NOCMD))
		execvp(words.we_wordv[0], words.we_wordv);
	_exit(127);
}

/* Until it has ended: by itself, or by SIGTERM and at last SIGKILL when the run is over. */
static void await(struct worker *worker, pid_t pid, int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	uint64_t asked_ns = 0;

	while (poll(&end, 1, (int)(WORKER_WAIT_NS / 1000000)) <= 0) {
		uint64_t now_ns = clock_monotonic_ns();

		if (!worker_stopping())
			continue;
		if (!asked_ns) {
			asked_ns = now_ns;
			kill(pid, SIGTERM);
		} else if (now_ns - asked_ns > GRACE_NS) {
			kill(pid, SIGKILL);
		}
	}
	worker->report.program_ended = !asked_ns;
}

static void iterate(struct worker *worker)
{
	struct worker_report *report = &worker->report;
	pid_t parent = getpid(), pid = fork(), got;
	struct rusage usage;
	int pidfd, status;

	if (!pid && getppid() == parent)
		become(worker->params);
	if (!pid)
		_exit(127);
	pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		worker_fail(worker, "cannot start the program: %s", strerror(errno));
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		return;
	}
	await(worker, pid, pidfd);
	close(pidfd);
	do
		got = wait4(pid, &status, 0, &usage);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		worker_fail(worker, "cannot find out how the program ended: %s", strerror(errno));
		return;
	}
	report->program_status = status;
	report->program_user_ns = clock_timeval_ns(usage.ru_utime);
	report->program_system_ns = clock_timeval_ns(usage.ru_stime);
	report->program_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
	worker->work_units = worker->iterations = 1;
}

const struct work_type work_exec = {
	.name = "exec",
	.summary = "a program in the worker's place",
	.params = params,
	.params_bytes = sizeof(struct exec),
	.flags = WORK_BYPASS | WORK_FORKS,
	.check = check,
	.iterate = iterate,
};
