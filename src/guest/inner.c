// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest/frame.h"
#include "guest/image.h"
#include "scheduler/scheduler.h"

#define TICK_MS	      50   /* to look at the scheduler: its state does not wake anybody */
#define LAST_WORDS_MS 1000 /* for what orphans of the command still write */
#define GATHER_BYTES  32768
#define GATHER_MS     5
#define DUMP_FILE     "/run/dwell-scheduler"
#define PROGRAM	      "/run/dwell" /* init by the name that its threads have elsewhere */

struct inner {
	const struct inner_orders *orders;
	int host;
	struct frame_reader reader; /* of what the host says */
	pid_t pid;		    /* of the command */
	int pidfd;
	int out, error; /* what it writes; -1: no more */
	int status;
	uint64_t ended_ns;   /* CLOCK_MONOTONIC; 0: it runs */
	uint64_t alive_ns;   /* when the host got the report */
	uint64_t started_ns; /* CLOCK_REALTIME */
	struct scheduler scheduler;
	bool scheduler_told;
	char bytes[GATHER_BYTES]; /* that the command wrote, to be passed on */
	size_t gathered;
	enum frame_kind gathered_kind;
	uint64_t gathered_ns; /* since when */
};

static bool is_load(const struct inner_orders *orders)
{
	return !strcmp(orders->arguments[0], "dwell") && orders->arguments[1] &&
	       !strcmp(orders->arguments[1], "load");
}

/* What init has from the kernel for itself alone. */
static void unprotect(void)
{
	cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) < 0)
		fprintf(stderr, "init: oom_score_adj: %s\n", strerror(errno));
}

_Noreturn static void become_command(const struct inner *inner, int out, int error)
{
	const struct inner_orders *orders = inner->orders;
	char *arguments[IMAGE_ORDER_TEXTS + 5];
	size_t count = 0, from = 0;
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char pid[16];

	/* load judges the scheduler itself, and alarms it */
	if (is_load(orders) && inner->scheduler.pid) {
		snprintf(pid, sizeof(pid), "%d", inner->scheduler.pid);
		arguments[count++] = orders->arguments[from++];
		arguments[count++] = orders->arguments[from++];
		arguments[count++] = (char *)"--scheduler-pid";
		arguments[count++] = pid;
		if (orders->repro)
			arguments[count++] = (char *)"--repro";
	}
	while (orders->arguments[from])
		arguments[count++] = orders->arguments[from++];
	arguments[count] = NULL;
	unprotect();
	setsid();
	/* the console never ends, so a reader would wait for ever */
	if (in < 0 || dup2(in, STDIN_FILENO) < 0)
		close(STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
	if (!strcmp(arguments[0], "dwell"))
		execv(link("/init", PROGRAM) < 0 ? "/init" : PROGRAM, arguments);
	else
		execvp(arguments[0], arguments);
	dprintf(STDERR_FILENO, "init: cannot run %s: %s\n", arguments[0], strerror(errno));
	_exit(127);
}

static int start_command(struct inner *inner)
{
	int out[2], error[2];

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		return -errno;
	inner->started_ns = clock_ns(CLOCK_REALTIME_COARSE);
	inner->pid = fork();
	if (!inner->pid)
		become_command(inner, out[1], error[1]);
	close(out[1]);
	close(error[1]);
	if (inner->pid < 0)
		return -errno;
	inner->out = out[0];
	inner->error = error[0];
	inner->pidfd = (int)syscall(SYS_pidfd_open, inner->pid, 0);
	return inner->pidfd < 0 ? -errno : 0;
}

static int flush(struct inner *inner)
{
	size_t used = inner->gathered;

	inner->gathered = 0;
	return used ? frame_write(inner->host, inner->gathered_kind, inner->bytes, used) : 0;
}

/* What comes within a few milliseconds goes as one frame: each costs the emulated line a lot. */
static int pass_on(struct inner *inner, int *from, enum frame_kind kind)
{
	ssize_t got;
	int result = 0;

	/* both kinds in the order they came */
	if (inner->gathered_kind != kind)
		result = flush(inner);
	inner->gathered_kind = kind;
	if (!inner->gathered)
		inner->gathered_ns = clock_monotonic_ns();
	got = read(*from, inner->bytes + inner->gathered, sizeof(inner->bytes) - inner->gathered);
	if (got > 0)
		inner->gathered += (size_t)got;
	if (!got || (got < 0 && errno != EINTR && errno != EAGAIN)) {
		close(*from);
		*from = -1;
	}
	if (result >= 0 && inner->gathered == sizeof(inner->bytes))
		result = flush(inner);
	return result;
}

static void take_order(struct inner *inner, enum frame_kind kind, const char *payload,
		       size_t length)
{
	int32_t number;

	if (kind != FRAME_SIGNAL || length != sizeof(number) || inner->ended_ns)
		return;
	memcpy(&number, payload, sizeof(number));
	/* not the leader of a session yet: just forked */
	if (kill(-inner->pid, number) < 0)
		kill(inner->pid, number);
}

static void hear_host(struct inner *inner)
{
	char bytes[256];
	ssize_t got = read(inner->host, bytes, sizeof(bytes));
	enum frame_kind kind;
	const char *payload;
	size_t length;

	if (got <= 0 || frame_feed(&inner->reader, bytes, (size_t)got) < 0)
		return;
	while (frame_next(&inner->reader, &kind, &payload, &length))
		take_order(inner, kind, payload, length);
}

/* Orphans are init's. The scheduler's end is for the code that watches it. */
static void reap(struct inner *inner)
{
	siginfo_t info = {.si_pid = 0};

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
		int status = 0;

		if (info.si_pid == inner->scheduler.pid && !inner->scheduler.reaped) {
			scheduler_look(&inner->scheduler);
			if (!inner->scheduler.reaped)
				return;
			continue;
		}
		waitpid(info.si_pid, &status, 0);
		if (info.si_pid == inner->pid) {
			inner->status = status;
			inner->ended_ns = clock_monotonic_ns();
		}
		info.si_pid = 0;
	}
}

/* An op of the load ended it, and it went; its program may have taken a while to end. */
static bool was_stopped(const struct inner *inner)
{
	const struct scheduler *scheduler = &inner->scheduler;
	int status = scheduler->status;

	return is_load(inner->orders) && scheduler->reaped &&
	       ((WIFEXITED(status) && !WEXITSTATUS(status)) ||
		(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)) &&
	       !scheduler->thrown_out;
}

static int tell_scheduler(struct inner *inner)
{
	const struct scheduler *scheduler = &inner->scheduler;
	struct frame_scheduler told = {
		.state = was_stopped(inner) ? SCHEDULER_STOPPED : (uint32_t)scheduler->state,
		.after_ns = scheduler->ended_ns ? scheduler->ended_ns - scheduler->began_ns : 0,
	};

	inner->scheduler_told = true;
	snprintf(told.name, sizeof(told.name), "%s", scheduler->name);
	snprintf(told.reason, sizeof(told.reason), "%s", scheduler->reason);
	return frame_write(inner->host, FRAME_SCHEDULER, &told, sizeof(told));
}

/* A file, since it is written as one, in pieces that a frame can hold. */
static int send_dump(struct inner *inner)
{
	struct error error;
	static char bytes[32768];
	cleanup_close int fd = -1;
	ssize_t got;
	int result = 0;

	if (scheduler_save(&inner->scheduler, DUMP_FILE, &error) < 0) {
		fprintf(stderr, "init: %s\n", error.text);
		return 0;
	}
	fd = open(DUMP_FILE, O_RDONLY | O_CLOEXEC);
	while (result >= 0 && fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0)
		result = frame_write(inner->host, FRAME_DUMP, bytes, (size_t)got);
	return result;
}

static int tick(struct inner *inner)
{
	uint64_t now_ns = clock_monotonic_ns();
	int result = 0;

	if (now_ns >= inner->gathered_ns + GATHER_MS * 1000000ULL)
		result = flush(inner);
	reap(inner);
	if (result >= 0 && !scheduler_look(&inner->scheduler) && !inner->scheduler_told)
		result = tell_scheduler(inner);
	if (result >= 0 && now_ns >= inner->alive_ns + FRAME_ALIVE_NS) {
		inner->alive_ns = now_ns;
		result = frame_write(inner->host, FRAME_ALIVE, "", 0);
	}
	return result;
}

/* Does not wait for orphans that keep its output open. */
static bool is_over(const struct inner *inner)
{
	return inner->ended_ns &&
	       ((inner->out < 0 && inner->error < 0) ||
		clock_monotonic_ns() >= inner->ended_ns + LAST_WORDS_MS * 1000000ULL);
}

/* What is in the pipe already: a slow line takes longer for it than orphans are waited for. */
static int drain(struct inner *inner, int *from, enum frame_kind kind)
{
	int result = 0, left = 0, now = 0;

	if (*from < 0 || ioctl(*from, FIONREAD, &left) < 0)
		return 0;
	/* what comes meanwhile is an orphan's */
	while (result >= 0 && left > 0 && *from >= 0 && !ioctl(*from, FIONREAD, &now) && now > 0) {
		left -= now < GATHER_BYTES ? now : GATHER_BYTES;
		result = pass_on(inner, from, kind);
		if (result >= 0)
			result = flush(inner);
	}
	return result;
}

static int follow(struct inner *inner)
{
	int result = 0;

	while (result >= 0 && !is_over(inner)) {
		struct pollfd fds[] = {
			{.fd = inner->out, .events = POLLIN},
			{.fd = inner->error, .events = POLLIN},
			{.fd = inner->host, .events = POLLIN},
			{.fd = inner->ended_ns ? -1 : inner->pidfd, .events = POLLIN},
		};

		poll(fds, ARRAY_SIZE(fds), inner->gathered ? GATHER_MS : TICK_MS);
		if (fds[0].revents)
			result = pass_on(inner, &inner->out, FRAME_OUT);
		if (result >= 0 && fds[1].revents)
			result = pass_on(inner, &inner->error, FRAME_ERROR);
		if (fds[2].revents & POLLIN)
			hear_host(inner);
		if (result >= 0)
			result = tick(inner);
	}
	if (result >= 0)
		result = flush(inner);
	if (result >= 0)
		result = drain(inner, &inner->out, FRAME_OUT);
	return result < 0 ? result : drain(inner, &inner->error, FRAME_ERROR);
}

static int finish(struct inner *inner)
{
	bool died = !scheduler_look(&inner->scheduler);
	int result = 0;

	if (inner->scheduler.state != SCHEDULER_NONE)
		result = tell_scheduler(inner);
	if (result >= 0 && died && !was_stopped(inner)) {
		/* it writes its dump when it sees that it was thrown out */
		scheduler_stop(&inner->scheduler);
		result = send_dump(inner);
	}
	/* a file that an orphan goes on writing would never have been sent */
	if (getpid() == 1)
		kill(-1, SIGKILL);
	return result < 0 ? result
			  : returns_send(&inner->orders->returns, inner->host, inner->started_ns);
}

static int fail(const struct inner *inner, const char *text)
{
	int32_t code = 1;

	if (frame_write(inner->host, FRAME_FAILED, text, strlen(text)) < 0 ||
	    frame_write(inner->host, FRAME_EXIT, &code, sizeof(code)) < 0)
		fprintf(stderr, "init: %s\n", text);
	return code;
}

int inner_run(const struct inner_orders *orders, int host)
{
	static struct inner inner;
	struct error error;
	int32_t code;
	int result;

	inner = (struct inner){.orders = orders,
			       .host = host,
			       .pidfd = -1,
			       .out = -1,
			       .error = -1,
			       .scheduler = SCHEDULER_INIT};
	/* the scheduler's name and its files may be relative, as the command's */
	if (chdir(orders->directory) < 0)
		fprintf(stderr, "init: %s: %s\n", orders->directory, strerror(errno));
	if (orders->scheduler && scheduler_start(&inner.scheduler, orders->scheduler, &error) < 0)
		return fail(&inner, error.text);
	result = start_command(&inner);
	if (result < 0)
		return fail(&inner, strerror(-result));
	result = follow(&inner);
	if (result >= 0)
		result = finish(&inner);
	code = WIFSIGNALED(inner.status) ? 128 + WTERMSIG(inner.status) : WEXITSTATUS(inner.status);
	if (result >= 0)
		result = frame_write(host, FRAME_EXIT, &code, sizeof(code));
	if (result < 0)
		fprintf(stderr, "init: the host does not listen: %s\n", strerror(-result));
	return code;
}
