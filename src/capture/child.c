// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "capture/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/proc_stat.h"

/* In the child: signals as our parent left them, then wait, then become the program. */
_Noreturn static void run(const struct child *child, char *const argv[], pid_t parent, int start_fd,
			  int error_fd, bool stop)
{
	sigset_t none;
	char byte;
	ssize_t got;

	forked_end_with(parent);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (child->resets_hangup)
		signal(SIGHUP, SIG_DFL);
	do
		got = read(start_fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(1);
	/* its life is its own now: it may outlive us, as under any shell */
	prctl(PR_SET_PDEATHSIG, 0);
	if (child->prints_to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (stop && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
		got = write(error_fd, &(int){-errno}, sizeof(int));
		_exit(127);
	}
	descriptors_restore();
	execvp(argv[0], argv);
	got = write(error_fd, &(int){errno}, sizeof(int));
	_exit(127);
}

static int prepare(struct child *child, char *const argv[], bool stop, struct error *error)
{
	int start[2], failed[2], code;
	pid_t parent = getpid();

	if (pipe2(start, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC) < 0) {
		close(start[0]);
		close(start[1]);
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	}
	child->pid = fork();
	code = errno;
	if (child->pid == 0) {
		close(start[1]);
		run(child, argv, parent, start[0], failed[1], stop);
	}
	close(start[0]);
	close(failed[1]);
	child->start_fd = start[1];
	child->error_fd = failed[0];
	if (child->pid < 0) {
		child->pid = 0;
		return error_set(error, code, "cannot fork: %s", strerror(code));
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0)
		return error_set(error, errno, "cannot open a pidfd: %s", strerror(errno));
	return 0;
}

int child_prepare(struct child *child, char *const argv[], struct error *error)
{
	return prepare(child, argv, false, error);
}

int child_prepare_program(struct child *child, char *const argv[], struct error *error)
{
	int status, result = prepare(child, argv, true, error);
	pid_t got;

	if (result >= 0)
		result = child_start(child, argv[0], error);
	if (result < 0)
		return result;
	do
		got = waitpid(child->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got > 0 && WIFSTOPPED(status)) {
		child->stopped = true;
		/* if we are killed before it is let go */
		ptrace(PTRACE_SETOPTIONS, child->pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL);
		return 0;
	}
	if (got > 0)
		child->pid = 0; /* reaped */
	return error_set(error, ECHILD, "%s ended before it began", argv[0]);
}

/* Programs that do something to their process, and then become what they were given. */
static const char *const wrappers[] = {
	"sh",	   "bash",    "dash",	 "busybox", "env",     "nice",	  "ionice",  "chrt",
	"taskset", "numactl", "setsid",	 "nohup",   "stdbuf",  "prlimit", "setpriv", "setarch",
	"unshare", "nsenter", "erlexec", "chroot",  "su-exec", "gosu",	  "cgexec",  "choom",
};

static bool is_wrapper(pid_t pid)
{
	char link[32], path[PATH_MAX];
	const char *name;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	name = strrchr(path, '/');
	for (size_t i = 0; name && i < ARRAY_SIZE(wrappers); i++)
		if (!strcmp(name + 1, wrappers[i]))
			return true;
	return false;
}

/* 1: it has stopped, *ret_status says why; 0: not until then; -ECHILD: it has ended. */
static int wait_stopped(struct child *child, uint64_t until_ns, int *ret_status)
{
	for (;;) {
		siginfo_t info = {.si_pid = 0};

		/* its end is left for who waits for it */
		if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) <
			    0 &&
		    errno != EINTR)
			return -errno;
		if (info.si_pid && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED))
			return waitpid(child->pid, ret_status, __WALL) < 0 ? -errno : 1;
		if (info.si_pid)
			return -ECHILD;
		if (clock_monotonic_ns() >= until_ns)
			return 0;
		clock_sleep_ms(1);
	}
}

static bool has_executed(int status)
{
	return status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

/* It runs on by itself: as if it had been stopped at its first instruction. */
static int stop_here(struct child *child)
{
	int status, result;

	if (kill(child->pid, SIGSTOP) < 0)
		return -errno;
	/* it may end, or be stopped by another signal, before: that is passed on */
	do {
		result = wait_stopped(child, UINT64_MAX, &status);
		if (result == 1 && WSTOPSIG(status) != SIGSTOP)
			ptrace(PTRACE_CONT, child->pid, NULL,
			       (void *)(uintptr_t)(has_executed(status) ? 0 : WSTOPSIG(status)));
	} while (result == 1 && WSTOPSIG(status) != SIGSTOP);
	return result;
}

/* 1: it has become another program; 0: it has not; or a negative errno: it has ended. */
static int pass_one(struct child *child)
{
	uint64_t until_ns = clock_monotonic_ns() + CHILD_WRAPPER_NS;
	uintptr_t signal = 0;
	int status, result;

	for (;;) {
		if (ptrace(PTRACE_CONT, child->pid, NULL, (void *)signal) < 0)
			return -errno;
		result = wait_stopped(child, until_ns, &status);
		if (result == 0)
			return stop_here(child) < 0 ? -ECHILD : 0;
		if (result < 0 || has_executed(status))
			return result;
		signal = (uintptr_t)WSTOPSIG(status);
	}
}

int child_pass_wrappers(struct child *child, struct error *error)
{
	int result = 1;

	if (ptrace(PTRACE_SETOPTIONS, child->pid, NULL,
		   (void *)(uintptr_t)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)) < 0)
		return error_set(error, errno, "cannot follow the command: %s", strerror(errno));
	child->started_ns = clock_monotonic_ns();
	while (result == 1 && is_wrapper(child->pid))
		result = pass_one(child);
	if (result < 0)
		return error_set(error, ECHILD, "the command ended before it ran another program");
	return 0;
}

int child_start(struct child *child, const char *name, struct error *error)
{
	ssize_t got;
	int reason;

	child->started_ns = clock_monotonic_ns();
	if (child->stopped) {
		child->stopped = false;
		return ptrace(PTRACE_DETACH, child->pid, NULL, NULL) < 0
			       ? error_set(error, errno, "cannot start %s: %s", name,
					   strerror(errno))
			       : 0;
	}
	if (write(child->start_fd, "", 1) != 1)
		return error_set(error, errno, "cannot start %s: %s", name, strerror(errno));
	do
		got = read(child->error_fd, &reason, sizeof(reason));
	while (got < 0 && errno == EINTR);
	if (got == sizeof(reason) && reason < 0)
		return error_set(error, -reason, "cannot stop %s at its start: ptrace: %s", name,
				 strerror(-reason));
	if (got == sizeof(reason))
		return error_set(error, reason, "cannot run %s: %s", *name ? name : "''",
				 strerror(reason));
	return 0;
}

int child_reap(struct child *child, int *ret_wait_status, uint64_t *ret_duration_ns)
{
	pid_t got;

	do
		got = waitpid(child->pid, ret_wait_status, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	child->pid = 0;
	*ret_duration_ns = clock_monotonic_ns() - child->started_ns;
	return 0;
}

#define GENERATIONS 64

int child_add_started(struct child *child, uint32_t pid, uint64_t start_ns)
{
	if (array_reserve(&child->started, &child->started_room, child->started_count + 1,
			  sizeof(*child->started)) < 0)
		return -ENOMEM;
	child->started[child->started_count++] = (struct child_started){pid, start_ns};
	return 0;
}

/* Not another one that has its number. */
static bool was_started(const struct child *child, uint32_t pid, const struct proc_stat *stat)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	for (size_t i = 0; i < child->started_count; i++)
		if (child->started[i].pid == pid &&
		    child->started[i].start_ns / tick_ns == stat->start_ns / tick_ns)
			return true;
	return false;
}

/* Whether it is of those, or a child of the command or of one of them, and still runs. */
static bool is_of(const struct child *child, uint32_t pid)
{
	struct proc_stat stat;

	if (!proc_stat_read(pid, pid, &stat) || stat.state == 'Z')
		return false;
	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		if (was_started(child, pid, &stat) || stat.parent_pid == (uint32_t)child->pid)
			return true;
		pid = stat.parent_pid;
		if (!proc_stat_read(pid, pid, &stat))
			return false;
	}
	return false;
}

struct descendants {
	pid_t *pids;
	size_t room, count;
};

static void release_descendants(struct descendants *found)
{
	free(found->pids);
}

/* All of them at this time, stopped. */
static int stop_descendants(const struct child *child, struct descendants *found)
{
	cleanup_dir DIR *proc = opendir("/proc");
	struct dirent *entry;

	found->count = 0;
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);

		if (!pid || pid == child->pid || !is_of(child, (uint32_t)pid))
			continue;
		if (array_reserve(&found->pids, &found->room, found->count + 1,
				  sizeof(*found->pids)) < 0)
			return -ENOMEM;
		found->pids[found->count++] = pid;
		kill(pid, SIGSTOP);
	}
	return 0;
}

#define STOP_ROUNDS 16

/*
 * What it has started would go on otherwise, as the rest of a pipeline. None is killed before all
 * are stopped: the children of one that has ended are another one's.
 */
static void kill_all(const struct child *child)
{
	cleanup(release_descendants) struct descendants found = {.count = 0};
	size_t before = SIZE_MAX;

	kill(child->pid, SIGSTOP);
	for (int i = 0; i < STOP_ROUNDS && found.count != before; i++) {
		before = i ? found.count : SIZE_MAX;
		if (stop_descendants(child, &found) < 0)
			break;
	}
	for (size_t i = 0; i < found.count; i++)
		kill(found.pids[i], SIGKILL);
	kill(child->pid, SIGKILL);
}

void child_release(struct child *child)
{
	uint64_t duration_ns;
	int status;

	if (child->pid > 0) {
		kill_all(child);
		if (child_reap(child, &status, &duration_ns) < 0)
			child->pid = 0;
	}
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->start_fd >= 0)
		close(child->start_fd);
	if (child->error_fd >= 0)
		close(child->error_fd);
	free(child->started);
	*child = (struct child)CHILD_NONE;
}
