// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/load_children.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/loop.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/wait_status.h"
#include "results/load_reports.h"

#define TICK_NS	    (500 * NS_PER_MS)
#define GRACE_NS    (10 * NS_PER_S) /* to tidy up, when it was asked to end */
#define MEMORY_PATH 40		    /* "/proc/self/fd/N" */
#define ERROR_BYTES 400

static const int heard_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void load_children_begin(struct load_children *children)
{
	signals_heard(&children->heard, heard_signals, ARRAY_SIZE(heard_signals));
	sigprocmask(SIG_BLOCK, &children->heard, &children->mask);
}

void load_children_end(struct load_children *children)
{
	sigprocmask(SIG_SETMASK, &children->mask, NULL);
}

/* Until it has ended; its wait status. Signals that end us end it first. */
static int await_end(struct load_children *children, pid_t child)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	uint64_t asked_ns = 0;
	int status;

	for (;;) {
		siginfo_t info;
		pid_t got = waitpid(child, &status, WNOHANG);

		if (got)
			return got == child ? status : -errno;
		if (asked_ns && clock_monotonic_ns() - asked_ns > GRACE_NS)
			kill(child, SIGKILL);
		if (sigtimedwait(&children->heard, &info, &tick) < 0)
			children->tick(children->data);
		else if (info.si_signo != SIGCHLD) {
			kill(child, SIGTERM);
			asked_ns = clock_monotonic_ns();
			children->interrupted = true;
		}
	}
}

/* The first line of what it has said, as a reason. */
static int report_failure(const char *title, int status, int error_fd, struct error *error)
{
	char text[ERROR_BYTES] = "", *line = text, how[WAIT_STATUS_BYTES];
	ssize_t length = pread(error_fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(line, "dwell load: ", strlen("dwell load: ")))
		line += strlen("dwell load: ");
	if (!*line) {
		wait_status_format(how, status);
		line = how;
	}
	return error_set(error,
			 WIFEXITED(status) && WEXITSTATUS(status) == EXIT_USAGE ? EINVAL : EIO,
			 "%s: %s", title, line);
}

int load_children_take(int report, struct load_side *side, struct error *error)
{
	char path[MEMORY_PATH];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", report);
	return load_reports_read(side, path, error);
}

int load_children_run(struct load_children *children, const char *title, int *ret_report,
		      struct error *error)
{
	int out = file_in_memory("dwell-load-report"),
	    error_fd = file_in_memory("dwell-load-error");
	struct load_side probe = {.runs = 0};
	pid_t parent = getpid(), child = -1;
	int status = 0, result;

	if (out >= 0 && error_fd >= 0)
		child = fork();
	if (!child) {
		children->become(children->data, parent, out, error_fd);
		_exit(127);
	}
	if (child < 0) {
		result = error_set(error, errno, "cannot start a run: %s", strerror(errno));
	} else {
		status = await_end(children, child);
		result = load_children_take(out, &probe, error);
		if (result < 0)
			result = report_failure(title, status, error_fd, error);
	}
	load_side_release(&probe);
	if (error_fd >= 0)
		close(error_fd);
	*ret_report = out;
	return result == -EINVAL || child < 0 ? result : result >= 0;
}

int load_children_directory(const char *path, struct error *error)
{
	if (!path || !mkdir(path, 0777) || errno == EEXIST)
		return 0;
	return error_set(error, errno, "cannot make %s: %s", path, strerror(errno));
}
