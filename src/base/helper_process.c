// SPDX-License-Identifier: GPL-2.0-or-later
/* The keeper, the helper and the reader. */
#define _GNU_SOURCE /* close_range */
#include "base/helper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/sandbox.h"

#define RESTART_NS 1000000  /* between two helpers: one that dies at once must not use a CPU */
#define DEATH_NS   50000000 /* from SIGKILL to the death of what the kernel does not hold */

struct helper_parts {
	struct helper_shared *shared;
	struct helper_message *message; /* with the number */
	size_t used;			/* of its bytes */
	int fd;
};

/* Nothing of the parent's but the socket: neither its terminal nor what it has open. */
static void keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
		dup2(null, i);
	if (dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0);
}

/* Of the process that this is: set when it becomes a helper. */
static int reader_fd = -1;

static uint64_t data_bytes(void)
{
	char text[128] = "";
	unsigned long long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	/* proc_pid_statm(5): the sixth is data and stack */
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		(void)!sscanf(text, "%*u %*u %*u %*u %*u %llu", &pages);
	if (fd >= 0)
		close(fd);
	return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

/*
 * Not RLIMIT_AS: mapped files cost nothing, and are larger than what is made of them. Only a
 * writable mapping counts.
 */
static void limit_memory(const struct helper_work *work)
{
	uint64_t has = data_bytes();
	const struct rlimit none = {0, 0};
	struct rlimit limit = {.rlim_cur = has + work->memory_bytes, .rlim_max = RLIM_INFINITY};

	if (work->memory_max_bytes > work->memory_bytes)
		limit.rlim_max = has + work->memory_max_bytes;
	else
		limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_DATA, &limit);
	setrlimit(RLIMIT_CORE, &none);
}

void helper_allow_memory(uint64_t bytes)
{
	struct rlimit limit;

	if (reader_fd < 0 || getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	limit.rlim_cur =
		bytes < limit.rlim_max - limit.rlim_cur ? limit.rlim_cur + bytes : limit.rlim_max;
	setrlimit(RLIMIT_DATA, &limit);
}

/* A reply: its result, its bytes; a descriptor may go with it. */
struct reply {
	int32_t result, has_fd;
	uint8_t bytes[HELPER_REPLY_BYTES];
};

union control {
	struct cmsghdr header;
	uint8_t room[CMSG_SPACE(sizeof(int))];
};

static void send_reply(int socket, struct reply *reply, size_t length, int fd)
{
	union control control = {{0}};
	struct iovec part = {reply, offsetof(struct reply, bytes) + length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	reply->has_fd = fd >= 0;
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		_exit(0);
	if (fd >= 0)
		close(fd);
}

/*
 * Others' memory and memory maps, files that they have mapped, files, /proc/kallsyms. CAP_PERFMON
 * is for who has no CAP_SYS_PTRACE: newer kernels (seen in 6.18) let it read memory maps too.
 */
#define READING_RIGHTS                                                                             \
	CAP_SYS_PTRACE, CAP_PERFMON, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH, CAP_SYSLOG

static const int reading_rights[] = {READING_RIGHTS};

/* And making, and killing, processes of another user in an empty root directory. */
static const int keeping_rights[] = {READING_RIGHTS, CAP_KILL, CAP_SETUID, CAP_SETGID,
				     CAP_SYS_CHROOT};

_Noreturn static void serve(const struct helper_work *work, struct helper_shared *shared,
			    int socket)
{
	static uint8_t request[HELPER_MESSAGE_BYTES];
	static struct reply reply;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "dwell-reader");
	sandbox_keep(reading_rights, ARRAY_SIZE(reading_rights));
	for (;;) {
		ssize_t got = recv(socket, request, sizeof(request), 0);
		size_t length = 0;
		int fd;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			_exit(0);
		fd = work->serve(request, (size_t)got, reply.bytes, &length);
		reply.result = fd < -1 ? fd : 0;
		helper_store(&shared->reader_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		send_reply(socket, &reply, reply.result < 0 ? 0 : length, fd);
	}
}

int helper_request(const void *request, size_t length, void *bytes, size_t *ret_length, int *ret_fd)
{
	static struct reply reply;
	union control control;
	struct iovec part = {&reply, sizeof(reply)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got;

	*ret_fd = -1;
	*ret_length = 0;
	if (reader_fd < 0)
		return 0;
	if (send(reader_fd, request, length, MSG_NOSIGNAL) < 0)
		return -errno;
	while ((got = recvmsg(reader_fd, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got < (ssize_t)offsetof(struct reply, bytes))
		_exit(1); /* it has died, and so do we */
	*ret_length = (size_t)got - offsetof(struct reply, bytes);
	memcpy(bytes, reply.bytes, *ret_length);
	if (reply.has_fd && message.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return reply.result < 0 ? reply.result : 1;
}

static void send_parts(struct helper_parts *parts)
{
	struct helper_message *message = parts->message;

	if (!parts->used)
		return;
	message->head.is_part = true;
	if (send(parts->fd, message, sizeof(message->head) + parts->used, MSG_NOSIGNAL) < 0)
		_exit(0);
	parts->used = 0;
	/* what it waits for room is the parent's time */
	helper_store(&parts->shared->current_from_ns, clock_monotonic_ns());
}

void helper_part(struct helper_parts *parts, const void *bytes, size_t length)
{
	const struct helper_part_head head = {length};
	uint8_t *into;

	if (helper_part_room(length) > sizeof(parts->message->bytes) - parts->used)
		send_parts(parts);
	into = parts->message->bytes + parts->used;
	memcpy(into, &head, sizeof(head));
	memcpy(into + sizeof(head), bytes, length);
	parts->used += helper_part_room(length);
}

_Noreturn static void help(const struct helper_work *work, const void *context,
			   struct helper_shared *shared, int fd, int reader)
{
	static struct helper_message question, answer, part;
	struct helper_parts parts = {shared, &part, 0, fd};
	void *data;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	reader_fd = reader;
	limit_memory(work);
	sandbox_confine();
	/* which the change of the user has cleared */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	data = work->begin(context);
	for (;;) {
		/* whenever it is killed, the question is in the socket or marked as current */
		ssize_t got = data ? recv(fd, &question, sizeof(question), MSG_PEEK) : -1;
		size_t length;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < (ssize_t)sizeof(question.head))
			_exit(0);
		helper_store(&shared->current_from_ns, clock_monotonic_ns());
		helper_store(&shared->current, question.head.number);
		got = recv(fd, &question, sizeof(question), 0);
		if (got < (ssize_t)sizeof(question.head))
			_exit(0);
		answer.head.number = part.head.number = question.head.number;
		length = work->answer(data, question.bytes, (size_t)got - sizeof(question.head),
				      answer.bytes, &parts);
		send_parts(&parts);
		helper_store(&shared->helper_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		if (send(fd, &answer, sizeof(answer.head) + length, MSG_NOSIGNAL) < 0)
			_exit(0);
		helper_store(&shared->current, 0);
	}
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000ULL + (uint64_t)time->tv_usec * 1000;
}

/* The helper and its reader. */
struct couple {
	pid_t helper, reader; /* 0: there is none, or it has been reaped */
	int status;	      /* of the helper */
	uint64_t cpu_ns;      /* of those that have been reaped */
};

static void kill_both(const struct couple *couple)
{
	if (couple->helper)
		kill(couple->helper, SIGKILL);
	if (couple->reader)
		kill(couple->reader, SIGKILL);
}

/* Those that have ended. One does not live without the other. */
static void reap(struct couple *couple, int options)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((couple->helper || couple->reader) &&
	       (pid = wait4(-1, &status, options, &usage)) > 0) {
		couple->cpu_ns += ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
		if (pid == couple->helper) {
			couple->helper = 0;
			couple->status = status;
		} else if (pid == couple->reader) {
			couple->reader = 0;
		} else {
			continue; /* of a couple before, which the kernel has let go */
		}
		kill_both(couple);
	}
}

/*
 * Until both are gone; SIGUSR1 kills them, SIGTERM ends all. A process that waits for a filesystem
 * which does not answer dies when the kernel lets it go, and the wait here ends before that.
 */
static void await(struct couple *couple, const sigset_t *heard)
{
	const struct timespec longest = {.tv_nsec = DEATH_NS};
	uint64_t deadline_ns = UINT64_MAX;
	bool ending = false;

	for (;;) {
		siginfo_t info;
		int number;

		reap(couple, WNOHANG);
		if (couple->helper && clock_monotonic_ns() >= deadline_ns)
			couple->status = SIGKILL; /* as it will be */
		if ((!couple->helper && !couple->reader) || clock_monotonic_ns() >= deadline_ns)
			break;
		number = sigtimedwait(heard, &info, deadline_ns == UINT64_MAX ? NULL : &longest);
		if (number != SIGTERM && number != SIGUSR1)
			continue;
		ending |= number == SIGTERM;
		kill_both(couple);
		if (deadline_ns == UINT64_MAX)
			deadline_ns = clock_monotonic_ns() + DEATH_NS;
	}
	if (ending)
		_exit(0);
}

/* It kills processes of other users, and makes them. */
static void start_both(struct couple *couple, const struct helper_work *work, const void *context,
		       struct helper_shared *shared)
{
	const int parent_fd = STDERR_FILENO + 1;
	int pair[2] = {-1, -1};

	if (work->serve && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		_exit(1);
	*couple = (struct couple){0};
	if (work->serve)
		couple->reader = fork();
	if (work->serve && !couple->reader) {
		close(parent_fd);
		close(pair[0]);
		serve(work, shared, pair[1]);
	}
	if (couple->reader < 0)
		_exit(1);
	couple->helper = fork();
	if (!couple->helper) {
		if (work->serve)
			close(pair[1]);
		help(work, context, shared, parent_fd, pair[0]);
	}
	if (couple->helper < 0)
		_exit(1);
	if (work->serve) {
		close(pair[0]);
		close(pair[1]);
	}
}

_Noreturn void helper_keep(const struct helper_work *work, const void *context,
			   struct helper_shared *shared, int fd, pid_t parent)
{
	const struct timespec pause = {.tv_nsec = RESTART_NS};
	sigset_t heard, all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "dwell-helper");
	/* what the terminal or a service manager ends is the parent, and we with it */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&heard);
	sigaddset(&heard, SIGUSR1);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	keep_only(fd);
	sandbox_keep(keeping_rights, ARRAY_SIZE(keeping_rights));
	for (;;) {
		struct couple couple;

		start_both(&couple, work, context, shared);
		await(&couple, &heard);
		/* nothing is left to work for; a library that gives up has another status */
		if (WIFEXITED(couple.status) && !WEXITSTATUS(couple.status))
			_exit(0);
		helper_store(&shared->lost, helper_load(&shared->current));
		helper_store(&shared->current, 0);
		helper_store(&shared->cpu_ns, shared->cpu_ns + couple.cpu_ns);
		helper_store(&shared->helper_cpu_ns, 0);
		helper_store(&shared->reader_cpu_ns, 0);
		helper_store(&shared->restarts, shared->restarts + 1);
		nanosleep(&pause, NULL);
	}
}
