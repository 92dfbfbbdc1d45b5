// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* close_range */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/sandbox.h"

#define RESTART_NS 1000000 /* between two helpers: one that dies at once must not use a CPU */
#define END_NS	   100000000
#define DEATH_NS   50000000 /* from SIGKILL to the death of what the kernel does not hold */
#define LOOK_MS	   10	    /* how often a wait looks whether the helper has died */

/* Mapped by all three. Each field has one writer at a time: the helper, or the keeper without it.
 */
struct shared {
	uint64_t current;	  /* number of the question in work; 0: none */
	uint64_t current_from_ns; /* since then */
	uint64_t lost;		  /* the last question that a helper ended with */
	uint64_t restarts;
	uint64_t cpu_ns;	/* of the helpers before */
	uint64_t helper_cpu_ns; /* of this one, after its last answer */
	uint64_t reader_cpu_ns; /* of its reader, after its last reply */
};

struct message {
	struct message_head {
		uint64_t number;
		uint64_t is_part;
	} head;
	uint8_t bytes[HELPER_MESSAGE_BYTES];
};

/* Several parts go in one message, each behind its length, at a multiple of 8. */
struct part_head {
	uint64_t length;
};

static size_t part_bytes(size_t length)
{
	return sizeof(struct part_head) + (length + 7) / 8 * 8;
}

struct helper_parts {
	struct shared *shared;
	struct message *message; /* with the number */
	size_t used;		 /* of its bytes */
	int fd;
};

struct helper {
	int fd;
	pid_t keeper;
	struct shared *shared;
	uint64_t patience_ns;
	uint64_t asked,
		killed;	   /* numbers: of the last question; of the last one it was killed over */
	uint64_t lost;	   /* the last one that was reported */
	uint64_t heard_ns; /* when the last message came */
	struct message message, received;
	size_t received_bytes, part_at; /* of a message of parts; where the next one is */
};

static uint64_t load(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *value, uint64_t to)
{
	__atomic_store_n(value, to, __ATOMIC_RELEASE);
}

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

_Noreturn static void serve(const struct helper_work *work, struct shared *shared, int socket)
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
		store(&shared->reader_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
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
	struct message *message = parts->message;

	if (!parts->used)
		return;
	message->head.is_part = true;
	if (send(parts->fd, message, sizeof(message->head) + parts->used, MSG_NOSIGNAL) < 0)
		_exit(0);
	parts->used = 0;
	/* what it waits for room is the parent's time */
	store(&parts->shared->current_from_ns, clock_monotonic_ns());
}

void helper_part(struct helper_parts *parts, const void *bytes, size_t length)
{
	const struct part_head head = {length};
	uint8_t *into;

	if (part_bytes(length) > sizeof(parts->message->bytes) - parts->used)
		send_parts(parts);
	into = parts->message->bytes + parts->used;
	memcpy(into, &head, sizeof(head));
	memcpy(into + sizeof(head), bytes, length);
	parts->used += part_bytes(length);
}

_Noreturn static void help(const struct helper_work *work, const void *context,
			   struct shared *shared, int fd, int reader)
{
	static struct message question, answer, part;
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
		store(&shared->current_from_ns, clock_monotonic_ns());
		store(&shared->current, question.head.number);
		got = recv(fd, &question, sizeof(question), 0);
		if (got < (ssize_t)sizeof(question.head))
			_exit(0);
		answer.head.number = part.head.number = question.head.number;
		length = work->answer(data, question.bytes, (size_t)got - sizeof(question.head),
				      answer.bytes, &parts);
		send_parts(&parts);
		store(&shared->helper_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		if (send(fd, &answer, sizeof(answer.head) + length, MSG_NOSIGNAL) < 0)
			_exit(0);
		store(&shared->current, 0);
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
 * Until both are gone; SIGUSR1 kills them, SIGTERM ends all. Whoever waits for a filesystem that
 * does not answer dies when the kernel lets it go: nobody waits for that.
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
		       struct shared *shared)
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

_Noreturn static void keep(const struct helper_work *work, const void *context,
			   struct shared *shared, int fd, pid_t parent)
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
		store(&shared->lost, load(&shared->current));
		store(&shared->current, 0);
		store(&shared->cpu_ns, shared->cpu_ns + couple.cpu_ns);
		store(&shared->helper_cpu_ns, 0);
		store(&shared->reader_cpu_ns, 0);
		store(&shared->restarts, shared->restarts + 1);
		nanosleep(&pause, NULL);
	}
}

int helper_start(struct helper **ret_helper, const struct helper_work *work, const void *context,
		 struct error *error)
{
	struct helper *helper = calloc(1, sizeof(*helper));
	pid_t parent = getpid();
	int pair[2];

	if (!helper)
		return error_set(error, ENOMEM, "out of memory");
	*helper = (struct helper){.fd = -1, .patience_ns = work->patience_ns};
	helper->shared = mmap(NULL, sizeof(*helper->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (helper->shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		int code = errno;

		helper->shared = helper->shared == MAP_FAILED ? NULL : helper->shared;
		helper_end(helper);
		return error_set(error, code, "cannot start a helper: %s", strerror(code));
	}
	helper->fd = pair[0];
	helper->keeper = fork();
	if (!helper->keeper)
		keep(work, context, helper->shared, pair[1], parent);
	close(pair[1]);
	if (helper->keeper < 0) {
		helper->keeper = 0;
		error_set(error, errno, "cannot fork: %s", strerror(errno));
		helper_end(helper);
		return -EAGAIN;
	}
	*ret_helper = helper;
	return 0;
}

/* It reaps the helper; one that the kernel holds dies when it is let go, with its keeper gone. */
static void end_keeper(pid_t keeper)
{
	uint64_t deadline_ns = clock_monotonic_ns() + END_NS;
	const struct timespec pause = {.tv_nsec = END_NS / 100};
	pid_t got;

	kill(keeper, SIGTERM);
	while (!(got = waitpid(keeper, NULL, WNOHANG)) && clock_monotonic_ns() < deadline_ns)
		nanosleep(&pause, NULL);
	if (got)
		return;
	kill(keeper, SIGKILL);
	while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		;
}

void helper_end(struct helper *helper)
{
	if (!helper)
		return;
	if (helper->fd >= 0)
		close(helper->fd);
	if (helper->keeper)
		end_keeper(helper->keeper);
	if (helper->shared)
		munmap(helper->shared, sizeof(*helper->shared));
	free(helper);
}

uint64_t helper_ask(struct helper *helper, const void *question, size_t length)
{
	struct message *message = &helper->message;

	if (length > sizeof(message->bytes))
		return 0;
	message->head = (struct message_head){.number = helper->asked + 1};
	memcpy(message->bytes, question, length);
	if (send(helper->fd, message, sizeof(message->head) + length, MSG_DONTWAIT | MSG_NOSIGNAL) <
	    0)
		return 0;
	return ++helper->asked;
}

/* A question that takes too long is the end of its helper. Nanoseconds it has taken; 0: none. */
static uint64_t look(struct helper *helper)
{
	uint64_t current = load(&helper->shared->current), now_ns = clock_monotonic_ns();
	uint64_t from_ns = load(&helper->shared->current_from_ns), took_ns;

	/* as long as we did not listen, it may have waited for room */
	from_ns = from_ns > helper->heard_ns ? from_ns : helper->heard_ns;
	took_ns = current && now_ns > from_ns ? now_ns - from_ns : 0;

	/* the number is read again: meanwhile it may be the next one's time */
	if (took_ns <= helper->patience_ns || load(&helper->shared->current) != current)
		return took_ns;
	if (helper->killed != current)
		kill(helper->keeper, SIGUSR1);
	helper->killed = current;
	return took_ns;
}

/* Of the message that was received last. What a helper sends may be anything. */
static bool next_part(struct helper *helper, uint64_t *ret_number, void *part, size_t *ret_length)
{
	const uint8_t *bytes = helper->received.bytes + helper->part_at;
	size_t left = helper->received_bytes - helper->part_at;
	struct part_head head;

	if (left < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.length > left - sizeof(head)) {
		helper->part_at = helper->received_bytes;
		return false;
	}
	helper->part_at += part_bytes(head.length) < left ? part_bytes(head.length) : left;
	*ret_number = helper->received.head.number;
	*ret_length = head.length;
	memcpy(part, bytes + sizeof(head), head.length);
	return true;
}

static enum helper_state receive(struct helper *helper, uint64_t *ret_number, void *answer,
				 size_t *ret_length)
{
	struct message *message = &helper->received;
	ssize_t got;

	if (next_part(helper, ret_number, answer, ret_length))
		return HELPER_PART;
	do {
		got = recv(helper->fd, message, sizeof(*message), MSG_DONTWAIT);
		if (got < (ssize_t)sizeof(message->head))
			return HELPER_NONE;
		helper->heard_ns = clock_monotonic_ns();
		helper->part_at = 0;
		helper->received_bytes =
			message->head.is_part ? (size_t)got - sizeof(message->head) : 0;
		if (next_part(helper, ret_number, answer, ret_length))
			return HELPER_PART;
	} while (message->head.is_part);
	*ret_number = message->head.number;
	*ret_length = (size_t)got - sizeof(message->head);
	memcpy(answer, message->bytes, *ret_length);
	return HELPER_ANSWERED;
}

/* Somebody wants an end of the parent, who hears signals between its waits. */
static bool is_ending(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

/* In the order of questions: what the next helper has answered comes after what the last one lost.
 */
static bool lost_one(struct helper *helper, uint64_t *ret_number)
{
	uint64_t next, lost;
	bool some = recv(helper->fd, &next, sizeof(next), MSG_DONTWAIT | MSG_PEEK) == sizeof(next);

	/* read after the socket: the keeper sets it before another helper begins */
	lost = load(&helper->shared->lost);
	if (!lost || lost == helper->lost || (some && next < lost))
		return false;
	helper->lost = lost;
	*ret_number = lost;
	return true;
}

enum helper_state helper_next(struct helper *helper, uint64_t deadline_ns, uint64_t single_ns,
			      uint64_t *ret_number, void *answer, size_t *ret_length)
{
	struct pollfd fds = {.fd = helper->fd, .events = POLLIN};

	for (;;) {
		enum helper_state came;
		uint64_t now_ns;

		if (lost_one(helper, ret_number))
			return HELPER_LOST;
		came = receive(helper, ret_number, answer, ret_length);
		if (came != HELPER_NONE)
			return came;
		now_ns = clock_monotonic_ns();
		if (look(helper) > single_ns || now_ns >= deadline_ns || is_ending())
			return HELPER_NONE;
		if (poll(&fds, 1,
			 deadline_ns - now_ns < LOOK_MS * 1000000ULL
				 ? (int)((deadline_ns - now_ns) / 1000000) + 1
				 : LOOK_MS) > 0 &&
		    fds.revents & (POLLHUP | POLLERR) && !(fds.revents & POLLIN))
			return HELPER_NONE;
	}
}

uint64_t helper_cpu_ns(const struct helper *helper)
{
	return load(&helper->shared->cpu_ns) + load(&helper->shared->helper_cpu_ns) +
	       load(&helper->shared->reader_cpu_ns);
}

uint64_t helper_restarts(const struct helper *helper)
{
	return load(&helper->shared->restarts);
}
