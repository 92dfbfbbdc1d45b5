// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* close_range */
#include "serve/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/forked.h"
#include "base/passing.h"
#include "base/sandbox.h"

#define GRACE_NS (60 * NS_PER_S)
#define LOOK_MS	 200

struct jobs {
	int socket;
	pid_t starter;
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
	for (size_t i = 0; i < JOBS_AT_ONCE; i++)
		if (!all[i].pid && begin(&all[i], &job))
			return;
	refused.number = job.number;
	send_end(socket, &refused, -1);
}

static void serve(int socket, pid_t parent)
{
	struct running all[JOBS_AT_ONCE] = {{0}};
	struct pollfd fd = {.fd = socket, .events = POLLIN};

	int own = dup2(socket, STDERR_FILENO + 1);

	/* not what the caller listens on */
	if (own < 0 || syscall(SYS_close_range, own + 1, ~0U, 0) < 0)
		own = socket;
	fd.fd = socket = own;
	fcntl(socket, F_SETFD, FD_CLOEXEC);
	sandbox_end_with(parent);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
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
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	pid_t parent = getpid();
	int sockets[2];

	if (!jobs)
		return error_set(error, ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		free(jobs);
		return error_set(error, errno, "cannot make a socket: %s", strerror(errno));
	}
	jobs->starter = fork();
	if (!jobs->starter) {
		close(sockets[0]);
		serve(sockets[1], parent);
	}
	close(sockets[1]);
	jobs->socket = sockets[0];
	if (jobs->starter < 0) {
		int code = errno;

		jobs_end(jobs);
		return error_set(error, code, "cannot start a process: %s", strerror(code));
	}
	*ret_jobs = jobs;
	return 0;
}

void jobs_end(struct jobs *jobs)
{
	if (!jobs)
		return;
	forked_end(jobs->starter);
	close(jobs->socket);
	free(jobs);
}

bool jobs_run(struct jobs *jobs, const struct job *job)
{
	return send(jobs->socket, job, sizeof(*job), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*job);
}

int jobs_descriptor(const struct jobs *jobs)
{
	return jobs->socket;
}

bool jobs_next(struct jobs *jobs, struct job_end *ret_end, int *ret_fd)
{
	ssize_t got =
		passing_receive(jobs->socket, ret_end, sizeof(*ret_end), ret_fd, MSG_DONTWAIT);

	ret_end->error[sizeof(ret_end->error) - 1] = '\0';
	return got == sizeof(*ret_end);
}
