// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "scheduler/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/kernel_text.h"
#include "base/proc_stat.h"
#include "scheduler/kernel_log.h"

#define STATE_FILE   "/sys/kernel/sched_ext/state" /* Linux 6.12: disabled, enabling, enabled, … */
#define NAME_FILE    "/sys/kernel/sched_ext/root/ops"
#define COUNT_FILE   "/sys/kernel/sched_ext/enable_seq" /* how often one was, since boot */
#define START_S	     10					/* without any CPU time of its own */
#define START_MAX_S  300 /* an emulated verifier on a busy host takes minutes */
#define STOP_MS	     2000
#define LAST_WORDS_S 30
#define REASON_MS    300 /* for the kernel's log, when it has taken the scheduler down */
#define DISABLE_S    180 /* that takes it at most: every thread is given another class */
#define POLL_MS	     20	 /* the state file does not wake who polls it */
#define ARGUMENTS    64
#define PIPE_BYTES   (1 << 20) /* a dump while the reader is late */

static bool is_enabled(void)
{
	char state[32];

	kernel_line(STATE_FILE, state, sizeof(state));
	return !strcmp(state, "enabled");
}

/* Not where the file cannot be read: without memory, that says nothing about the scheduler. */
static bool is_taken_down(void)
{
	char state[32];

	kernel_line(STATE_FILE, state, sizeof(state));
	return *state && strcmp(state, "enabled") != 0;
}

/* On the way: the kernel is at work, and has not logged what it has come to. */
static bool is_changing(void)
{
	char state[32];

	kernel_line(STATE_FILE, state, sizeof(state));
	return !strcmp(state, "disabling") || !strcmp(state, "enabling") ||
	       !strcmp(state, "prepping");
}

uint64_t scheduler_count_enabled(void)
{
	char count[32];

	kernel_line(COUNT_FILE, count, sizeof(count));
	return strtoull(count, NULL, 10);
}

void scheduler_in_use(char *into, size_t room)
{
	kernel_line(NAME_FILE, into, room);
}

static int watch(struct scheduler *scheduler, pid_t pid, struct error *error)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return error_set(error, errno, "the scheduler, process %d: %s", pid,
				 strerror(errno));
	*scheduler = (struct scheduler){
		.waiting = scheduler->waiting,
		.waiting_data = scheduler->waiting_data,
		.state = SCHEDULER_ALIVE,
		.pid = pid,
		.pidfd = fd,
		.began_ns = clock_monotonic_ns(),
		.output = -1,
		.log = kernel_log_open(),
	};
	/* then: what is logged when it is in use no more is read */
	scheduler->in_use = is_enabled();
	kernel_line(NAME_FILE, scheduler->name, sizeof(scheduler->name));
	return 0;
}

/* Since when a process has been there, CLOCK_MONOTONIC; UINT64_MAX: it is gone. */
static uint64_t began_ns_of(pid_t pid)
{
	struct proc_stat stat;
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME), age_ns;

	if (!proc_stat_read((uint32_t)pid, (uint32_t)pid, &stat))
		return UINT64_MAX;
	age_ns = now_ns > stat.start_ns ? now_ns - stat.start_ns : 0;
	now_ns = clock_monotonic_ns();
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

int scheduler_watch(struct scheduler *scheduler, pid_t pid, struct error *error)
{
	char reason[SCHEDULER_REASON_BYTES];
	int result = watch(scheduler, pid, error);

	if (result < 0 || scheduler->in_use)
		return result;
	/* thrown out before it was looked at, it died all the same, and for a reason */
	kernel_log_look_back(began_ns_of(pid), &scheduler->logged);
	scheduler->in_use = scheduler->logged.text &&
			    kernel_log_reason(scheduler->logged.text, reason, sizeof(reason));
	return 0;
}

_Noreturn static void become(char *const words[], int output, pid_t parent)
{
	forked_prepare(parent, output, output);
	execvp(words[0], words);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
	_exit(127);
}

/* Processes left of it would keep the pipe open: do not wait for its end. */
static void hear(struct scheduler *scheduler)
{
	kernel_log_read(scheduler->log, &scheduler->logged);
	if (scheduler->output >= 0 && !log_tail_read(&scheduler->said, scheduler->output)) {
		close(scheduler->output);
		scheduler->output = -1;
	}
}

static void wait_on(const struct scheduler *scheduler)
{
	if (scheduler->waiting)
		scheduler->waiting(scheduler->waiting_data);
}

/* Whether its process has ended, heard to its end. */
static bool await_end(struct scheduler *scheduler, int timeout_ms)
{
	uint64_t deadline_ns = clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	bool ended;
	int ready;

	do {
		struct pollfd fds[2] = {{.fd = scheduler->pidfd, .events = POLLIN},
					{.fd = scheduler->output, .events = POLLIN}};

		ready = await_ready(fds, 2, deadline_ns);
		ended = fds[0].revents != 0;
		hear(scheduler);
		/* more than is heard at once may have been written before: a pipe holds so much */
		for (size_t heard = 0; ended && heard < PIPE_BYTES; heard += LOG_TAIL_BYTES_MAX)
			hear(scheduler);
		/* one that never stops writing is not heard for ever */
	} while (!ended && ready > 0 && clock_monotonic_ns() < deadline_ns);
	if (ended && scheduler->ours && !scheduler->reaped)
		scheduler->reaped =
			waitpid(scheduler->pid, &scheduler->status, WNOHANG) == scheduler->pid;
	return ended;
}

/* The last line that it wrote, for a message. */
static const char *last_line(struct scheduler *scheduler, char *into, size_t room)
{
	struct log_tail *said = &scheduler->said;
	size_t end = said->used, start;

	while (end && said->text[end - 1] == '\n')
		end--;
	start = end;
	while (start && said->text[start - 1] != '\n')
		start--;
	snprintf(into, room, "%s%.*s", end ? ": " : "", (int)(end - start),
		 end ? said->text + start : "");
	return into;
}

uint64_t scheduler_cpu_ns(const struct scheduler *scheduler)
{
	clockid_t clock;

	if (!scheduler->pid || scheduler->reaped) /* 0 were this process itself */
		return 0;
	return clock_getcpuclockid(scheduler->pid, &clock) ? 0 : clock_ns(clock);
}

/*
 * How long it has not begun, and has done nothing: on a slow machine it takes long to load, and one
 * that works at it has more time.
 */
struct patience {
	uint64_t began_ns, moved_ns, cpu_ns;
};

static bool is_over(struct patience *patience, const struct scheduler *scheduler)
{
	uint64_t now_ns = clock_monotonic_ns(), cpu_ns = scheduler_cpu_ns(scheduler);

	if (cpu_ns > patience->cpu_ns || is_changing())
		patience->moved_ns = now_ns;
	patience->cpu_ns = cpu_ns;
	return now_ns - patience->moved_ns >= START_S * NS_PER_S ||
	       now_ns - patience->began_ns >= START_MAX_S * NS_PER_S;
}

/* One that is ejected right after that, between two looks, was in use too: it died. */
static int await_enabled(struct scheduler *scheduler, uint64_t count_before, struct error *error)
{
	uint64_t began_ns = clock_monotonic_ns();
	struct patience patience = {began_ns, began_ns, 0};
	char line[256], reason[SCHEDULER_REASON_BYTES];

	while (!is_enabled() && scheduler_count_enabled() == count_before) {
		if (is_over(&patience, scheduler))
			return error_set(error, ETIMEDOUT,
					 "the scheduler '%s' was not taken into use within %d s%s",
					 scheduler->command,
					 (int)((clock_monotonic_ns() - began_ns) / NS_PER_S),
					 last_line(scheduler, line, sizeof(line)));
		wait_on(scheduler);
		if (!await_end(scheduler, POLL_MS))
			continue;
		if (scheduler->logged.text &&
		    kernel_log_reason(scheduler->logged.text, reason, sizeof(reason)))
			return error_set(error, ESRCH, "the kernel refused the scheduler '%s': %s",
					 scheduler->command, reason);
		return error_set(error, ESRCH, "the scheduler '%s' ended before it began%s",
				 scheduler->command, last_line(scheduler, line, sizeof(line)));
	}
	scheduler->in_use = true;
	scheduler->began_ns = clock_monotonic_ns();
	kernel_line(NAME_FILE, scheduler->name, sizeof(scheduler->name));
	return 0;
}

static int run_program(struct scheduler *scheduler, const char *command, struct error *error)
{
	cleanup_free char *copy = strdup(command);
	char *words[ARGUMENTS + 1], *rest = copy, *word;
	size_t count = 0;
	int ends[2], result, code;
	pid_t pid, parent = getpid();

	if (!copy)
		return error_set(error, ENOMEM, "out of memory");
	while ((word = strsep(&rest, " \t"))) {
		if (*word && count == ARGUMENTS)
			return error_set(error, E2BIG, "the scheduler's command has over %d words",
					 ARGUMENTS);
		if (*word)
			words[count++] = word;
	}
	words[count] = NULL;
	if (!count)
		return error_set(error, EINVAL, "the scheduler's command is empty");
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(ends[1], F_SETFL, 0); /* its program's end blocks */
	pid = fork();
	code = errno;
	if (!pid)
		become(words, ends[1], parent);
	close(ends[1]);
	result = pid < 0 ? error_set(error, code, "cannot fork: %s", strerror(code))
			 : watch(scheduler, pid, error);
	if (result < 0) {
		close(ends[0]);
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		return result;
	}
	scheduler->ours = true;
	scheduler->output = ends[0];
	return 0;
}

int scheduler_start(struct scheduler *scheduler, const char *command, struct error *error)
{
	uint64_t count = scheduler_count_enabled();
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
	scheduler_release(scheduler);
	result = run_program(scheduler, command, error);
	if (result < 0)
		return result;
	scheduler->command = strdup(command);
	result = scheduler->command ? await_enabled(scheduler, count, error)
				    : error_set(error, ENOMEM, "out of memory");
	if (result < 0)
		scheduler_stop(scheduler);
	return result;
}

/* One that was thrown out writes its dump, which takes it a while where CPUs are slow. */
static bool await_last_words(struct scheduler *scheduler)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LAST_WORDS_S * NS_PER_S;
	uint64_t cpu_ns;

	do {
		cpu_ns = scheduler_cpu_ns(scheduler);
		if (await_end(scheduler, STOP_MS))
			return true;
	} while (scheduler->thrown_out && scheduler_cpu_ns(scheduler) > cpu_ns &&
		 clock_monotonic_ns() < deadline_ns);
	return false;
}

void scheduler_stop(struct scheduler *scheduler)
{
	if (!scheduler->pid)
		return;
	syscall(SYS_pidfd_send_signal, scheduler->pidfd, SIGINT, NULL, 0);
	if (!await_last_words(scheduler)) {
		syscall(SYS_pidfd_send_signal, scheduler->pidfd, SIGKILL, NULL, 0);
		await_end(scheduler, STOP_MS);
	}
	if (scheduler->ours) {
		if (!scheduler->reaped)
			waitpid(scheduler->pid, &scheduler->status, 0);
		kill(-scheduler->pid, SIGKILL);
	}
	if (scheduler->state == SCHEDULER_ALIVE) {
		scheduler->state = SCHEDULER_STOPPED;
		scheduler->ended_ns = clock_monotonic_ns();
	}
	scheduler->pid = 0;
}

void scheduler_release(struct scheduler *scheduler)
{
	const int fds[] = {scheduler->pidfd, scheduler->output, scheduler->log};
	struct scheduler released = SCHEDULER_INIT;

	/* its owner is the same */
	released.waiting = scheduler->waiting;
	released.waiting_data = scheduler->waiting_data;
	if (scheduler->ours)
		scheduler_stop(scheduler);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(scheduler->command);
	log_tail_release(&scheduler->said);
	log_tail_release(&scheduler->logged);
	*scheduler = released;
}

/* SigCgt of proc_pid_status(5): bit N - 1 is signal N. */
bool scheduler_hears(const struct scheduler *scheduler)
{
	char caught[32];

	return scheduler->pid > 0 &&
	       kernel_status((uint32_t)scheduler->pid, "SigCgt", caught, sizeof(caught)) &&
	       strtoull(caught, NULL, 16) >> (SIGUSR2 - 1) & 1;
}

bool scheduler_alarm(const struct scheduler *scheduler)
{
	return scheduler_hears(scheduler) &&
	       syscall(SYS_pidfd_send_signal, scheduler->pidfd, SIGUSR2, NULL, 0) == 0;
}

/* In the kernel's words, or by the status that its program left. */
static bool find_reason(struct scheduler *scheduler)
{
	char *into = scheduler->reason;
	size_t room = sizeof(scheduler->reason);
	int status = scheduler->status;

	hear(scheduler);
	scheduler->thrown_out =
		scheduler->logged.text && kernel_log_reason(scheduler->logged.text, into, room);
	if (scheduler->thrown_out)
		return true;
	if (!scheduler->reaped)
		return false;
	if (WIFSIGNALED(status))
		snprintf(into, room, "its program was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(into, room, "its program ended with status %d", WEXITSTATUS(status));
	return true;
}

/* The kernel's message is a line of its own, which a slow console may hold back. */
static bool is_whole(const char *reason)
{
	return !strncmp(reason, "its program ", 12) || strstr(reason, ": ");
}

static void note_death(struct scheduler *scheduler)
{
	bool ended = false, known = false, changing = true;
	uint64_t deadline_ns = clock_monotonic_ns() + DISABLE_S * NS_PER_S;
	int quiet_ms = 0; /* since the kernel was done with it */

	scheduler->ended_ns = clock_monotonic_ns();
	scheduler->state = SCHEDULER_DIED;
	while (quiet_ms < REASON_MS && clock_monotonic_ns() < deadline_ns) {
		wait_on(scheduler);
		changing = is_changing();
		ended = await_end(scheduler, 0);
		known = find_reason(scheduler);
		if (known && is_whole(scheduler->reason))
			return;
		clock_sleep_ms(ended && scheduler->log < 0 ? 0 : POLL_MS);
		quiet_ms += changing ? 0 : POLL_MS;
	}
	if (known)
		return;
	snprintf(scheduler->reason, sizeof(scheduler->reason), "%s",
		 changing ? "the kernel has not taken it down yet, and does not say why"
		 : ended  ? "its program ended"
			  : "the kernel does not say why");
}

bool scheduler_look(struct scheduler *scheduler)
{
	struct pollfd end = {.fd = scheduler->pidfd, .events = POLLIN};

	if (scheduler->state != SCHEDULER_ALIVE) {
		/* thrown out, its program still has something to say before it ends */
		if (scheduler->pid && scheduler->state == SCHEDULER_DIED)
			await_end(scheduler, 0);
		return scheduler->state != SCHEDULER_DIED;
	}
	hear(scheduler);
	/* a program may well survive the scheduler that it loaded */
	if (poll(&end, 1, 0) == 0 && (!scheduler->in_use || !is_taken_down()))
		return true;
	note_death(scheduler);
	return false;
}

static void write_tail(FILE *file, const struct log_tail *tail)
{
	if (tail->cut)
		fputs("(the beginning is missing)\n", file);
	fwrite(tail->text ? tail->text : "", 1, tail->used, file);
}

int scheduler_save(const struct scheduler *scheduler, const char *path, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "wxe");

	if (!file)
		return error_set(error, errno, "cannot write %s: %s", path, strerror(errno));
	fprintf(file, "scheduler: %s\n", scheduler->command ? scheduler->command : scheduler->name);
	if (*scheduler->reason)
		fprintf(file, "died: %s\n", scheduler->reason);
	if (scheduler->logged.used) {
		fputs("\n--- the kernel's log\n", file);
		write_tail(file, &scheduler->logged);
	}
	if (scheduler->said.used) {
		fputs("\n--- the program's output\n", file);
		write_tail(file, &scheduler->said);
	}
	if (fflush(file) || ferror(file))
		return error_set(error, errno, "cannot write %s: %s", path, strerror(errno));
	return 0;
}
