// SPDX-License-Identifier: GPL-2.0-or-later
/* The keeper, the helper and the reader. */
#define _GNU_SOURCE /* close_range */
#include "base/forked.h"
#include "base/helper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
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
#include "base/duration.h"
#include "base/passing.h"
#include "base/sandbox.h"

/* Between two helpers; longer and longer while they answer nothing. */
#define RESTART_NS     NS_PER_MS
#define RESTART_MAX_NS NS_PER_S

#define DEATH_NS       (50 * NS_PER_MS) /* from SIGKILL to the death of what the kernel does not hold */
#define STACK_BYTES    (8 << 20)
#define FILE_BYTES     (1 << 20) /* a file in memory: the copy of the vdso is all that is written */

struct helper_parts {
	struct helper_message *message; /* with the number */
	size_t used;			/* of its bytes */
	int fd;
};

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
	struct rlimit limit = {.rlim_cur = has + work->memory_bytes, .rlim_max = RLIM_INFINITY};

	if (work->memory_max_bytes > work->memory_bytes)
		limit.rlim_max = has + work->memory_max_bytes;
	else
		limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_DATA, &limit);
	sandbox_limit(RLIMIT_CORE, 0);
	sandbox_limit(RLIMIT_STACK, STACK_BYTES);
	sandbox_limit(RLIMIT_FSIZE, FILE_BYTES);
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
	int32_t result;
	uint8_t bytes[HELPER_REPLY_BYTES];
};

static void send_reply(int socket, struct reply *reply, size_t length, int fd)
{
	if (passing_send(socket, reply, offsetof(struct reply, bytes) + length, fd, 0) < 0)
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

/*
 * Polls: in dwell's own tables it then waits for work (`idle`), and not for another thread.
 * `other`: a descriptor, or -1. True: that is readable.
 */
static bool await_request(int socket, int other)
{
	struct pollfd waited[] = {{.fd = socket, .events = POLLIN},
				  {.fd = other, .events = POLLIN}};

	return poll(waited, ARRAY_SIZE(waited), -1) > 0 && waited[1].revents;
}

_Noreturn static void serve(const struct helper_work *work, struct helper_shared *shared,
			    int socket, pid_t keeper)
{
	static uint8_t request[HELPER_MESSAGE_BYTES];
	static struct reply reply;
	int watched;

	forked_end_with(keeper);
	prctl(PR_SET_NAME, "dwell-reader");
	sandbox_keep_to_read(reading_rights, ARRAY_SIZE(reading_rights));
	watched = work->watch ? work->watch() : -1;
	for (;;) {
		size_t length = 0;
		ssize_t got;
		int fd = -1;

		if (await_request(socket, watched)) {
			work->tend();
			helper_store(&shared->reader_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		}
		got = recv(socket, request, sizeof(request), MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			_exit(0);
		reply.result = work->serve(request, (size_t)got, reply.bytes, &length, &fd);
		helper_store(&shared->reader_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		send_reply(socket, &reply, reply.result < 0 ? 0 : length,
			   reply.result < 0 ? -1 : fd);
	}
}

int helper_request(const void *request, size_t length, void *bytes, size_t *ret_length, int *ret_fd)
{
	static struct reply reply;
	ssize_t got;

	*ret_fd = -1;
	*ret_length = 0;
	if (reader_fd < 0)
		return 0;
	if (send(reader_fd, request, length, MSG_NOSIGNAL) < 0)
		return -errno;
	while ((got = passing_receive(reader_fd, &reply, sizeof(reply), ret_fd, 0)) == -EINTR)
		;
	if (got < (ssize_t)offsetof(struct reply, bytes))
		_exit(1); /* it has died, and so do we */
	*ret_length = (size_t)got - offsetof(struct reply, bytes);
	memcpy(bytes, reply.bytes, *ret_length);
	return reply.result < 0 ? reply.result : 1;
}

static void send_parts(struct helper_parts *parts)
{
	struct helper_message *message = parts->message;

	if (!parts->used)
		return;
	message->head.kind = HELPER_PARTS;
	if (send(parts->fd, message, sizeof(message->head) + parts->used, MSG_NOSIGNAL) < 0)
		_exit(0);
	parts->used = 0;
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

/* In a row, without a wait: between them, too, the parent is to see what they cost. */
#define UNSEEN_MAX 32

/*
 * The next one, in its order: whenever the helper is killed, it is in the socket, or marked as
 * current if it is to be answered. False: there will be none.
 */
static bool take_question(struct helper_shared *shared, int fd, uint64_t lost,
			  struct helper_message *question, size_t *ret_length)
{
	static unsigned int unseen;
	ssize_t got;

	/* with several in the socket, neither a wait nor a clock for each */
	if (++unseen > UNSEEN_MAX) {
		helper_store(&shared->helper_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		unseen = 0;
	}
	for (;;) {
		got = recv(fd, &question->head, sizeof(question->head), MSG_PEEK | MSG_DONTWAIT);
		if (got >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		helper_store(&shared->helper_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		unseen = 0;
		(void)await_request(fd, -1);
	}
	if (got < (ssize_t)sizeof(question->head))
		return false;
	if (question->head.number > lost)
		helper_store(&shared->current, question->head.number);
	got = recv(fd, question, sizeof(*question), 0);
	*ret_length = (size_t)got - sizeof(question->head);
	return got >= (ssize_t)sizeof(question->head);
}

/* The questions up to number `lost` are not to be answered any more. */
_Noreturn static void help(const struct helper_work *work, const void *context,
			   struct helper_shared *shared, int fd, int reader, uint64_t lost,
			   pid_t keeper)
{
	static struct helper_message question, answer, part;
	struct helper_parts parts = {&part, 0, fd};
	size_t length;
	void *data;

	forked_end_with(keeper);
	reader_fd = reader;
	limit_memory(work);
	if (!sandbox_confine(keeper))
		_exit(1);
	data = work->begin(context);
	while (data && take_question(shared, fd, lost, &question, &length)) {
		if (question.head.number <= lost)
			continue;
		answer.head = (struct helper_message_head){question.head.number, HELPER_ANSWER};
		part.head.number = question.head.number;
		length = work->answer(data, question.bytes, length, answer.bytes, &parts);
		send_parts(&parts);
		if (send(fd, &answer, sizeof(answer.head) + length, MSG_NOSIGNAL) < 0)
			break;
		helper_store(&shared->answered, shared->answered + 1);
		helper_store(&shared->current, 0);
	}
	_exit(1);
}

/* The helper and its reader. */
struct couple {
	pid_t helper, reader; /* 0: there is none, or it has been reaped */
	uint64_t cpu_ns;      /* of those that have been reaped */
};

static void kill_both(const struct couple *couple)
{
	if (couple->helper)
		kill(couple->helper, SIGKILL);
	if (couple->reader)
		kill(couple->reader, SIGKILL);
}

/* Those that have ended. One does not live without the other. True: one has. */
static bool reap(struct couple *couple)
{
	struct rusage usage;
	bool any = false;
	pid_t pid;

	while ((couple->helper || couple->reader) && (pid = wait4(-1, NULL, WNOHANG, &usage)) > 0) {
		couple->cpu_ns +=
			clock_timeval_ns(usage.ru_utime) + clock_timeval_ns(usage.ru_stime);
		if (pid == couple->helper)
			couple->helper = 0;
		else if (pid == couple->reader)
			couple->reader = 0;
		else
			continue; /* of a couple before, which the kernel has let go */
		any = true;
		kill_both(couple);
	}
	return any;
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
		bool dying = reap(couple);
		int number;

		if ((!couple->helper && !couple->reader) || clock_monotonic_ns() >= deadline_ns)
			break;
		number = dying ? 0
			       : sigtimedwait(heard, NULL,
					      deadline_ns == UINT64_MAX ? NULL : &longest);
		if (number == SIGTERM || number == SIGUSR1) {
			ending |= number == SIGTERM;
			dying = true;
			kill_both(couple);
		}
		if (dying && deadline_ns == UINT64_MAX)
			deadline_ns = clock_monotonic_ns() + DEATH_NS;
	}
	if (ending)
		_exit(0);
}

#define PARENT_FD (STDERR_FILENO + 1)

/* It kills processes of other users, and makes them. False: there was no room for both. */
static bool start_both(struct couple *couple, const struct helper_work *work, const void *context,
		       struct helper_shared *shared, uint64_t lost)
{
	int pair[2] = {-1, -1};
	pid_t keeper = getpid();

	*couple = (struct couple){0};
	if (work->serve) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return false;
		couple->reader = fork();
		if (!couple->reader) {
			close(PARENT_FD);
			close(pair[0]);
			serve(work, shared, pair[1], keeper);
		}
	}
	if (couple->reader >= 0)
		couple->helper = fork();
	if (couple->reader >= 0 && !couple->helper) {
		if (work->serve)
			close(pair[1]);
		help(work, context, shared, PARENT_FD, pair[0], lost, keeper);
	}
	if (work->serve) {
		close(pair[0]);
		close(pair[1]);
	}
	if (couple->reader >= 0 && couple->helper >= 0)
		return true;
	couple->reader = couple->reader > 0 ? couple->reader : 0;
	couple->helper = 0;
	kill_both(couple);
	return false;
}

/* In its turn: after what the helper has answered, and before the next one answers. */
static void report_death(struct helper_shared *shared, uint64_t *lost)
{
	const struct helper_message_head head = {helper_load(&shared->current), HELPER_DIED};

	helper_store(&shared->current, 0);
	if (send(PARENT_FD, &head, sizeof(head), MSG_NOSIGNAL) < 0)
		_exit(0);
	*lost = head.number > *lost ? head.number : *lost;
}

/* Between two helpers. A signal to kill the one that has died is not for the next one. */
static void rest(uint64_t pause_ns)
{
	const struct timespec none = {0},
			      pause = {(time_t)(pause_ns / NS_PER_S), (long)(pause_ns % NS_PER_S)};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (sigtimedwait(&set, NULL, &pause) == SIGTERM)
		_exit(0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (sigtimedwait(&set, NULL, &none) == SIGUSR1)
		;
}

_Noreturn void helper_keep(const struct helper_work *work, const void *context,
			   struct helper_shared *shared, int fd, pid_t parent)
{
	uint64_t pause_ns = RESTART_NS, lost = 0;
	int *kept[] = {&fd};
	sigset_t heard, all;

	forked_end_with(parent);
	prctl(PR_SET_NAME, "dwell-helper");
	/* what the terminal or a service manager ends is the parent, and we with it */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&heard);
	sigaddset(&heard, SIGUSR1);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	/* neither the parent's terminal nor what it has open */
	forked_silence();
	if (forked_keep_only(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	sandbox_keep_to_read(keeping_rights, ARRAY_SIZE(keeping_rights));
	for (;;) {
		uint64_t answered = helper_load(&shared->answered);
		struct couple couple;

		if (start_both(&couple, work, context, shared, lost))
			await(&couple, &heard);
		helper_store(&shared->cpu_ns, shared->cpu_ns + couple.cpu_ns);
		helper_store(&shared->helper_cpu_ns, 0);
		helper_store(&shared->reader_cpu_ns, 0);
		report_death(shared, &lost);
		if (helper_load(&shared->answered) != answered)
			pause_ns = RESTART_NS;
		rest(pause_ns);
		pause_ns = 2 * pause_ns < RESTART_MAX_NS ? 2 * pause_ns : RESTART_MAX_NS;
	}
}
