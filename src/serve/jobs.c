// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/forked.h"
#include "base/passing.h"
#include "serve/keeper.h"

#define GRACE_NS (60 * NS_PER_S)
#define LOOK_MS	 200

struct jobs {
	struct kept kept; /* a process that starts them */
};

/* In the starter. */
struct running {
	pid_t pid; /* 0: none */
	uint64_t number, deadline_ns;
	int out, error;
};

void job_add(struct job *job, const char *format, ...)
{
	va_list arguments;

	if (job->word_count >= JOB_WORDS)
		return;
	va_start(arguments, format);
	vsnprintf(job->words[job->word_count++], JOB_WORD_BYTES, format, arguments);
	va_end(arguments);
}

static void become(struct job *job, int out, int error, pid_t starter)
{
	char *words[JOB_WORDS + 2] = {"dwell"};

	for (uint32_t i = 0; i < job->word_count && i < JOB_WORDS; i++) {
		job->words[i][JOB_WORD_BYTES - 1] = '\0';
		words[1 + i] = job->words[i];
	}
	forked_prepare(starter, out, error);
	execv("/proc/self/exe", words);
	_exit(127);
}

static bool begin(struct running *running, struct job *job)
{
	pid_t starter = getpid();

	*running = (struct running){.number = job->number,
				    .out = file_in_memory("dwell-job"),
				    .error = file_in_memory("dwell-job-error")};
	running->deadline_ns = clock_monotonic_ns() + job->seconds * NS_PER_S + GRACE_NS;
	if (running->out >= 0 && running->error >= 0)
		running->pid = fork();
	if (!running->pid && running->out >= 0 && running->error >= 0)
		become(job, running->out, running->error, starter);
	if (running->pid > 0)
		return true;
	if (running->out >= 0)
		close(running->out);
	if (running->error >= 0)
		close(running->error);
	running->pid = 0;
	return false;
}

static void send_end(int socket, const struct job_end *end, int fd)
{
	if (passing_send(socket, end, sizeof(*end), fd, 0) < 0)
		_exit(0);
}

static uint64_t length_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) < 0 ? 0 : (uint64_t)status.st_size;
}

static void finish(int socket, struct running *running, int status)
{
	struct job_end end = {.number = running->number, .status = status};
	uint64_t words = length_of(running->error);
	uint64_t from = words > sizeof(end.error) - 1 ? words - (sizeof(end.error) - 1) : 0;
	ssize_t got = pread(running->error, end.error, sizeof(end.error) - 1, (off_t)from);

	end.error[got > 0 ? got : 0] = '\0';
	end.length = length_of(running->out);
	send_end(socket, &end, running->out);
	close(running->out);
	close(running->error);
	running->pid = 0;
}

static void look(int socket, struct running *all)
{
	for (size_t i = 0; i < JOBS_AT_ONCE; i++) {
		int status = 0;

		if (!all[i].pid)
			continue;
		if (clock_monotonic_ns() > all[i].deadline_ns)
			kill(all[i].pid, SIGKILL);
		if (waitpid(all[i].pid, &status, WNOHANG) == all[i].pid)
			finish(socket, &all[i], status);
	}
}

static void kill_job(const struct running *all, uint64_t number)
{
	for (size_t i = 0; i < JOBS_AT_ONCE; i++)
		if (all[i].pid && all[i].number == number)
			kill(all[i].pid, SIGKILL);
}

static void take(int socket, struct running *all)
{
	struct job job;
	struct job_end refused = {.status = -EBUSY};
	ssize_t got = recv(socket, &job, sizeof(job), 0);

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0)
		_exit(0);
	if (got != sizeof(job))
		return;
	if (!job.word_count) {
		kill_job(all, job.number);
		return;
	}
	for (size_t i = 0; i < JOBS_AT_ONCE; i++)
		if (!all[i].pid && begin(&all[i], &job))
			return;
	refused.number = job.number;
	send_end(socket, &refused, -1);
}

static void serve(void *data, int socket, pid_t parent)
{
	struct running all[JOBS_AT_ONCE] = {{0}};
	struct pollfd fd;
	int *kept[] = {&socket};

	(void)data;
	/* not what the caller listens on */
	if (forked_keep_only(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	fd = (struct pollfd){.fd = socket, .events = POLLIN};
	keeper_begin(parent);
	for (;;) {
		bool is_busy = false;

		for (size_t i = 0; i < JOBS_AT_ONCE; i++)
			is_busy = is_busy || all[i].pid;
		if (poll(&fd, 1, is_busy ? LOOK_MS : -1) > 0)
			take(socket, all);
		look(socket, all);
	}
}

int jobs_start(struct jobs **ret_jobs, struct error *error)
{
	static const struct keeper keeper = {.run = serve, .once = true};
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int result;

	if (!jobs)
		return error_set(error, ENOMEM, "out of memory");
	result = keeper_start(&jobs->kept, &keeper, error);
	if (result < 0)
		jobs_end(jobs);
	else
		*ret_jobs = jobs;
	return result;
}

void jobs_end(struct jobs *jobs)
{
	if (!jobs)
		return;
	keeper_end(&jobs->kept);
	free(jobs);
}

bool jobs_run(struct jobs *jobs, const struct job *job)
{
	return send(jobs->kept.socket, job, sizeof(*job), MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       sizeof(*job);
}

void jobs_cancel(struct jobs *jobs, uint64_t number)
{
	const struct job job = {.number = number};

	if (!jobs_run(jobs, &job)) {
		/* it ends at its time */
	}
}

int jobs_descriptor(const struct jobs *jobs)
{
	return jobs->kept.socket;
}

int jobs_next(struct jobs *jobs, struct job_end *ret_end, int *ret_fd)
{
	ssize_t got =
		passing_receive(jobs->kept.socket, ret_end, sizeof(*ret_end), ret_fd, MSG_DONTWAIT);

	ret_end->error[sizeof(ret_end->error) - 1] = '\0';
	if (got == 0 || got == -ECONNRESET)
		return -ECHILD;
	return got == sizeof(*ret_end);
}
