// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/priority.h"
#include "guest/frame.h"
#include "guest/image.h"
#include "scheduler/scheduler.h"

#define TICK_MS		       50   /* to look at the scheduler: its state wakes no thread */
#define LAST_WORDS_MS	       1000 /* for what orphans of the command still write */
#define GATHER_BYTES	       32768
#define GATHER_MS	       5
#define DUMP_FILE	       "/run/dwell-scheduler"
#define RECORDING_HEADER_BYTES 64 /* and more: capture/recording_format.h */
#define RECORDING_INTERVAL     "100ms"
#define RECORDING_BEGINS_NS                                                                        \
	(30 * 1000000000ULL) /* its probes are loaded, which takes long emulated */
#define RECORDING_ENDS_NS (10 * 1000000000ULL)
#define PROGRAM		  "/run/dwell" /* init by the name that its threads have elsewhere */

struct agent {
	const struct agent_orders *orders;
	int host;
	struct frame_reader reader; /* of what the host says */
	pid_t pid;		    /* of the command */
	pid_t recorder;		    /* 0: none, or it has ended */
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

static bool is_load(const struct agent_orders *orders)
{
	return !strcmp(orders->arguments[0], "dwell") && orders->arguments[1] &&
	       !strcmp(orders->arguments[1], "load");
}

/* What init has from the kernel for itself alone. */
static void unprotect(void)
{
	cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	priority_forked();
	if (fd < 0 || write(fd, "0", 1) < 0)
		fprintf(stderr, "init: oom_score_adj: %s\n", strerror(errno));
}

static const char *program(void)
{
	return access(PROGRAM, X_OK) < 0 && link("/init", PROGRAM) < 0 ? "/init" : PROGRAM;
}

_Noreturn static void become_recorder(const struct agent_orders *orders)
{
	char *const arguments[] = {(char *)"dwell",
				   (char *)"record",
				   (char *)"--force",
				   (char *)"-i",
				   (char *)RECORDING_INTERVAL,
				   (char *)"-o",
				   (char *)orders->recording,
				   NULL};

	unprotect();
	/* or the scheduler under test might stall it or its helpers, and not the command */
	if (!priority_raise_all())
		fprintf(stderr, "init: cannot prefer the recorder: %s\n", strerror(errno));
	setsid();
	execv(program(), arguments);
	fprintf(stderr, "init: cannot record: %s\n", strerror(errno));
	_exit(127);
}

_Noreturn static void become_command(const struct agent *agent, int out, int error)
{
	const struct agent_orders *orders = agent->orders;
	char *arguments[IMAGE_ORDER_TEXTS + 5];
	size_t count = 0, from = 0;
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char pid[16];

	/* load judges the scheduler itself, and alarms it */
	if (is_load(orders) && agent->scheduler.pid) {
		snprintf(pid, sizeof(pid), "%d", agent->scheduler.pid);
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
		execv(program(), arguments);
	else
		execvp(arguments[0], arguments);
	dprintf(STDERR_FILENO, "init: cannot run %s: %s\n", arguments[0], strerror(errno));
	_exit(127);
}

static int start_command(struct agent *agent)
{
	int out[2], error[2];

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		return -errno;
	agent->started_ns = clock_ns(CLOCK_REALTIME_COARSE);
	agent->pid = fork();
	if (!agent->pid)
		become_command(agent, out[1], error[1]);
	close(out[1]);
	close(error[1]);
	if (agent->pid < 0)
		return -errno;
	agent->out = out[0];
	agent->error = error[0];
	agent->pidfd = (int)syscall(SYS_pidfd_open, agent->pid, 0);
	return agent->pidfd < 0 ? -errno : 0;
}

static int flush(struct agent *agent)
{
	size_t used = agent->gathered;

	agent->gathered = 0;
	return used ? frame_write(agent->host, agent->gathered_kind, agent->bytes, used) : 0;
}

/* What comes within a few milliseconds goes as one frame: each costs the emulated line a lot. */
static int pass_on(struct agent *agent, int *from, enum frame_kind kind)
{
	ssize_t got;
	int result = 0;

	/* both kinds in the order they came */
	if (agent->gathered_kind != kind)
		result = flush(agent);
	agent->gathered_kind = kind;
	if (!agent->gathered)
		agent->gathered_ns = clock_monotonic_ns();
	got = read(*from, agent->bytes + agent->gathered, sizeof(agent->bytes) - agent->gathered);
	if (got > 0)
		agent->gathered += (size_t)got;
	if (!got || (got < 0 && errno != EINTR && errno != EAGAIN)) {
		close(*from);
		*from = -1;
	}
	if (result >= 0 && agent->gathered == sizeof(agent->bytes))
		result = flush(agent);
	return result;
}

static void take_order(struct agent *agent, enum frame_kind kind, const char *payload,
		       size_t length)
{
	int32_t number;

	if (kind != FRAME_SIGNAL || length != sizeof(number) || agent->ended_ns)
		return;
	memcpy(&number, payload, sizeof(number));
	/* not the leader of a session yet: just forked */
	if (kill(-agent->pid, number) < 0)
		kill(agent->pid, number);
}

static void hear_host(struct agent *agent)
{
	char bytes[256];
	ssize_t got = read(agent->host, bytes, sizeof(bytes));
	enum frame_kind kind;
	const char *payload;
	size_t length;

	if (got <= 0 || frame_feed(&agent->reader, bytes, (size_t)got) < 0)
		return;
	while (frame_next(&agent->reader, &kind, &payload, &length))
		take_order(agent, kind, payload, length);
}

/* Orphans are init's. The scheduler's end is for the code that watches it. */
static void reap(struct agent *agent)
{
	siginfo_t info = {.si_pid = 0};

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
		int status = 0;

		if (info.si_pid == agent->scheduler.pid && !agent->scheduler.reaped) {
			scheduler_look(&agent->scheduler);
			if (!agent->scheduler.reaped)
				return;
			continue;
		}
		waitpid(info.si_pid, &status, 0);
		if (info.si_pid == agent->recorder)
			agent->recorder = 0;
		if (info.si_pid == agent->pid) {
			agent->status = status;
			agent->ended_ns = clock_monotonic_ns();
		}
		info.si_pid = 0;
	}
}

static bool await_recorder(struct agent *agent, uint64_t timeout_ns,
			   bool (*is_done)(const struct agent *agent))
{
	uint64_t deadline_ns = clock_monotonic_ns() + timeout_ns;

	while (agent->recorder && !is_done(agent) && clock_monotonic_ns() < deadline_ns) {
		poll(NULL, 0, TICK_MS);
		reap(agent);
	}
	return is_done(agent);
}

/* It is written to after each interval: the first one is in it. */
static bool is_recording(const struct agent *agent)
{
	struct stat status;

	return !stat(agent->orders->recording, &status) && status.st_size > RECORDING_HEADER_BYTES;
}

static bool has_recorded(const struct agent *agent)
{
	return !agent->recorder;
}

/* From before the scheduler is there; the command runs all the same if nothing can be recorded. */
static void start_recorder(struct agent *agent)
{
	if (!agent->orders->recording)
		return;
	agent->recorder = fork();
	if (!agent->recorder)
		become_recorder(agent->orders);
	if (agent->recorder < 0)
		agent->recorder = 0;
	if (!await_recorder(agent, RECORDING_BEGINS_NS, is_recording))
		fprintf(stderr, "init: nothing is recorded\n");
}

static void stop_recorder(struct agent *agent)
{
	if (agent->recorder)
		kill(agent->recorder, SIGINT);
	await_recorder(agent, RECORDING_ENDS_NS, has_recorded);
}

/* An op of the load ended it, and it went; its program may have taken a while to end. */
static bool was_stopped(const struct agent *agent)
{
	const struct scheduler *scheduler = &agent->scheduler;
	int status = scheduler->status;

	return is_load(agent->orders) && scheduler->reaped &&
	       ((WIFEXITED(status) && !WEXITSTATUS(status)) ||
		(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)) &&
	       !scheduler->thrown_out;
}

static int tell_scheduler(struct agent *agent)
{
	const struct scheduler *scheduler = &agent->scheduler;
	struct frame_scheduler message = {
		.state = was_stopped(agent) ? SCHEDULER_STOPPED : (uint32_t)scheduler->state,
		.after_ns = scheduler->ended_ns ? scheduler->ended_ns - scheduler->began_ns : 0,
	};

	agent->scheduler_told = true;
	snprintf(message.name, sizeof(message.name), "%s", scheduler->name);
	snprintf(message.reason, sizeof(message.reason), "%s", scheduler->reason);
	return frame_write(agent->host, FRAME_SCHEDULER, &message, sizeof(message));
}

/* A file, since it is written as one, in pieces that a frame can hold. */
static int send_dump(struct agent *agent)
{
	struct error error;
	static char bytes[32768];
	cleanup_close int fd = -1;
	ssize_t got;
	int result = 0;

	if (scheduler_save(&agent->scheduler, DUMP_FILE, &error) < 0) {
		fprintf(stderr, "init: %s\n", error.text);
		return 0;
	}
	fd = open(DUMP_FILE, O_RDONLY | O_CLOEXEC);
	while (result >= 0 && fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0)
		result = frame_write(agent->host, FRAME_DUMP, bytes, (size_t)got);
	return result;
}

/* At least every FRAME_ALIVE_NS: else the host takes the guest for one that hangs. */
static int say_alive(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < agent->alive_ns + FRAME_ALIVE_NS)
		return 0;
	agent->alive_ns = now_ns;
	return frame_write(agent->host, FRAME_ALIVE, "", 0);
}

/* A scheduler's program takes minutes to load, or to be taken down, where it is emulated. */
static void on_wait(void *data)
{
	if (say_alive(data) < 0)
		return; /* a host that does not listen is found out when there is something to say
			 */
}

static int tick(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns();
	int result = 0;

	if (now_ns >= agent->gathered_ns + GATHER_MS * 1000000ULL)
		result = flush(agent);
	reap(agent);
	if (result >= 0 && !scheduler_look(&agent->scheduler) && !agent->scheduler_told)
		result = tell_scheduler(agent);
	return result < 0 ? result : say_alive(agent);
}

/* Does not wait for orphans that keep its output open. */
static bool is_over(const struct agent *agent)
{
	return agent->ended_ns &&
	       ((agent->out < 0 && agent->error < 0) ||
		clock_monotonic_ns() >= agent->ended_ns + LAST_WORDS_MS * 1000000ULL);
}

/* What is in the pipe already: a slow line takes longer for it than orphans are waited for. */
static int drain(struct agent *agent, int *from, enum frame_kind kind)
{
	int result = 0, left = 0, now = 0;

	if (*from < 0 || ioctl(*from, FIONREAD, &left) < 0)
		return 0;
	/* what comes meanwhile is an orphan's */
	while (result >= 0 && left > 0 && *from >= 0 && !ioctl(*from, FIONREAD, &now) && now > 0) {
		left -= now < GATHER_BYTES ? now : GATHER_BYTES;
		result = pass_on(agent, from, kind);
		if (result >= 0)
			result = flush(agent);
	}
	return result;
}

static int follow(struct agent *agent)
{
	int result = 0;

	while (result >= 0 && !is_over(agent)) {
		struct pollfd fds[] = {
			{.fd = agent->out, .events = POLLIN},
			{.fd = agent->error, .events = POLLIN},
			{.fd = agent->host, .events = POLLIN},
			{.fd = agent->ended_ns ? -1 : agent->pidfd, .events = POLLIN},
		};

		poll(fds, ARRAY_SIZE(fds), agent->gathered ? GATHER_MS : TICK_MS);
		if (fds[0].revents)
			result = pass_on(agent, &agent->out, FRAME_OUT);
		if (result >= 0 && fds[1].revents)
			result = pass_on(agent, &agent->error, FRAME_ERROR);
		if (fds[2].revents & POLLIN)
			hear_host(agent);
		if (result >= 0)
			result = tick(agent);
	}
	if (result >= 0)
		result = flush(agent);
	if (result >= 0)
		result = drain(agent, &agent->out, FRAME_OUT);
	return result < 0 ? result : drain(agent, &agent->error, FRAME_ERROR);
}

static int finish(struct agent *agent)
{
	bool died = !scheduler_look(&agent->scheduler);
	int result = 0;

	if (agent->scheduler.state != SCHEDULER_NONE)
		result = tell_scheduler(agent);
	if (result >= 0 && died && !was_stopped(agent)) {
		/* it writes its dump when it sees that it was thrown out */
		scheduler_stop(&agent->scheduler);
		result = send_dump(agent);
	}
	stop_recorder(agent);
	/* a file that an orphan goes on writing would never have been sent */
	if (getpid() == 1)
		kill(-1, SIGKILL);
	return result < 0
		       ? result
		       : pulled_files_send(&agent->orders->pulled, agent->host, agent->started_ns);
}

static int fail(const struct agent *agent, const char *text)
{
	int32_t code = 1;

	if (frame_write(agent->host, FRAME_FAILED, text, strlen(text)) < 0 ||
	    frame_write(agent->host, FRAME_EXIT, &code, sizeof(code)) < 0)
		fprintf(stderr, "init: %s\n", text);
	return code;
}

int agent_run(const struct agent_orders *orders, int host)
{
	static struct agent agent;
	struct error error;
	int32_t code;
	int result;

	agent = (struct agent){.orders = orders,
			       .host = host,
			       .pidfd = -1,
			       .out = -1,
			       .error = -1,
			       .scheduler = SCHEDULER_INIT};
	/* the scheduler's name and its files may be relative, as the command's */
	if (chdir(orders->directory) < 0)
		fprintf(stderr, "init: %s: %s\n", orders->directory, strerror(errno));
	agent.scheduler.waiting = on_wait;
	agent.scheduler.waiting_data = &agent;
	start_recorder(&agent);
	if (orders->scheduler && scheduler_start(&agent.scheduler, orders->scheduler, &error) < 0)
		return fail(&agent, error.text);
	result = start_command(&agent);
	if (result < 0)
		return fail(&agent, strerror(-result));
	result = follow(&agent);
	if (result >= 0)
		result = finish(&agent);
	code = WIFSIGNALED(agent.status) ? 128 + WTERMSIG(agent.status) : WEXITSTATUS(agent.status);
	if (result >= 0)
		result = frame_write(host, FRAME_EXIT, &code, sizeof(code));
	if (result < 0)
		fprintf(stderr, "init: the host does not listen: %s\n", strerror(-result));
	return code;
}
