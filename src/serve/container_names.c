// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* close_range */
#include "serve/container_names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/patience.h"
#include "base/sandbox.h"

#define EVERY_MS     15000
#define ANSWER_NS    (5 * NS_PER_S)
#define ANSWER_BYTES (4 << 20)
/* An answer as a tree takes some times its bytes. */
#define MEMORY_BYTES (128 << 20)
#define CPU_SECONDS  5
#define AT_ONCE	     256

/* HTTP/1.0: the answer ends with the connection, and is not cut into chunks. */
#define QUESTION "GET /containers/json HTTP/1.0\r\nHost: localhost\r\n\r\n"

/* From the process that reads: names, an end; or that there are none. */
struct names_message {
	int32_t result;		    /* a negative errno: no answer, and `items` mean nothing */
	uint32_t count;		    /* of `items` */
	uint32_t is_first, is_last; /* of an answer */
	struct container_name items[AT_ONCE];
};

struct container_names {
	int socket;
	pid_t asker;
	struct container_name known[CONTAINER_NAMES_MAX], coming[CONTAINER_NAMES_MAX];
	size_t known_count, coming_count;
	uint64_t failures;
	int32_t last_result, told_result;
	char words[128];
};

const char *container_names_path(const char *text)
{
	static const char scheme[] = "unix://";

	if (!strncmp(text, scheme, sizeof(scheme) - 1))
		text += sizeof(scheme) - 1;
	return *text == '/' && strlen(text) < sizeof(((struct sockaddr_un *)NULL)->sun_path) ? text
											     : NULL;
}

static void send_message(int socket, const struct names_message *message)
{
	if (send(socket, message, sizeof(*message), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void tell_result(int socket, int result)
{
	static struct names_message message;

	message.result = result;
	send_message(socket, &message);
}

/* Without rights: the engine, and what its containers are called, may be anyone's. */
static int read_answer(int engine, char *bytes, size_t *ret_length)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + (uint64_t)((double)ANSWER_NS * patience_factor());
	struct pollfd fd = {.fd = engine, .events = POLLIN};

	*ret_length = 0;
	if (send(engine, QUESTION, sizeof(QUESTION) - 1, MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(QUESTION) - 1)
		return -errno;
	for (;;) {
		int ready = await_ready(&fd, 1, deadline_ns);
		ssize_t got;

		if (ready <= 0)
			return ready < 0 ? ready : -ETIMEDOUT;
		if (*ret_length == ANSWER_BYTES)
			return -EFBIG;
		got = recv(engine, bytes + *ret_length, ANSWER_BYTES - *ret_length, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return 0;
		*ret_length += (size_t)got;
	}
}

static void send_names(int socket, const struct container_name *names, size_t count)
{
	static struct names_message message;
	size_t sent = 0;

	message.is_first = 1;
	do {
		size_t part = count - sent < AT_ONCE ? count - sent : AT_ONCE;

		memcpy(message.items, names + sent, part * sizeof(*names));
		sent += part;
		message.count = (uint32_t)part;
		message.is_last = sent == count;
		send_message(socket, &message);
		message.is_first = 0;
	} while (sent < count);
}

static void limit(void)
{
	const struct rlimit none = {0, 0}, memory = {MEMORY_BYTES, MEMORY_BYTES},
			    cpu = {CPU_SECONDS, CPU_SECONDS};

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_DATA, &memory);
	setrlimit(RLIMIT_CPU, &cpu);
}

static void read_names(int engine, int socket, pid_t parent)
{
	static struct container_name names[CONTAINER_NAMES_MAX];
	size_t length = 0;
	char *bytes;
	int result;

	limit();
	bytes = malloc(ANSWER_BYTES);
	if (!bytes || !sandbox_confine(parent))
		_exit(1);
	result = read_answer(engine, bytes, &length);
	if (result >= 0)
		result = container_answer_read(bytes, length, names, CONTAINER_NAMES_MAX);
	if (result < 0)
		tell_result(socket, result);
	else
		send_names(socket, names, (size_t)result);
	_exit(0);
}

/* A negative errno, or the socket. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int engine = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (engine < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(engine, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int result = -errno;

		close(engine);
		return result;
	}
	return engine;
}

static void ask_once(const char *path, int socket)
{
	int engine = connect_to(path);
	pid_t own = getpid(), pid;
	int status = 0;

	if (engine < 0) {
		tell_result(socket, engine);
		return;
	}
	pid = fork();
	if (!pid)
		read_names(engine, socket, own);
	close(engine);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status)
		tell_result(socket, -EIO);
}

/* Nothing of the caller's but the socket to it; it reads nothing that others have written. */
static void ask(const char *path, int socket, pid_t parent)
{
	static const int rights[] = {CAP_KILL, CAP_SETUID, CAP_SETGID, CAP_SYS_CHROOT,
				     CAP_DAC_OVERRIDE};
	int null = open("/dev/null", O_RDWR), own;

	for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
		dup2(null, i);
	own = dup2(socket, STDERR_FILENO + 1);
	if (own < 0 || syscall(SYS_close_range, own + 1, ~0U, 0) < 0)
		own = socket;
	sandbox_keep(rights, ARRAY_SIZE(rights));
	sandbox_end_with(parent);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (;;) {
		ask_once(path, own);
		clock_sleep_ms(EVERY_MS);
	}
}

int container_names_start(struct container_names **ret_names, const char *path, struct error *error)
{
	struct container_names *names = calloc(1, sizeof(*names));
	pid_t parent = getpid();
	int sockets[2], result;

	if (!names)
		return error_set(error, ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		free(names);
		return error_set(error, errno, "cannot make a socket: %s", strerror(errno));
	}
	names->asker = fork();
	if (!names->asker)
		ask(path, sockets[1], parent);
	result = -errno;
	close(sockets[1]);
	names->socket = sockets[0];
	if (names->asker < 0) {
		container_names_end(names);
		return error_set(error, -result, "cannot start a process: %s", strerror(-result));
	}
	*ret_names = names;
	return 0;
}

void container_names_end(struct container_names *names)
{
	if (!names)
		return;
	forked_end(names->asker);
	close(names->socket);
	free(names);
}

int container_names_descriptor(const struct container_names *names)
{
	return names->socket;
}

static int by_id(const void *left, const void *right)
{
	return strcmp(((const struct container_name *)left)->id,
		      ((const struct container_name *)right)->id);
}

/* The process that read them may have been taken over: what it says is made sound. */
static void take(struct container_names *names, const struct names_message *message)
{
	if (message->result < 0) {
		names->last_result = message->result;
		names->failures++;
		return;
	}
	if (message->is_first)
		names->coming_count = 0;
	for (uint32_t i = 0; i < message->count && i < AT_ONCE; i++) {
		struct container_name item = message->items[i], *into;

		if (names->coming_count == CONTAINER_NAMES_MAX)
			break;
		into = &names->coming[names->coming_count++];
		item.id[sizeof(item.id) - 1] = item.name[sizeof(item.name) - 1] = '\0';
		memcpy(into->id, item.id, sizeof(into->id));
		container_name_set(into, item.name);
	}
	if (!message->is_last)
		return;
	qsort(names->coming, names->coming_count, sizeof(*names->coming), by_id);
	memcpy(names->known, names->coming, names->coming_count * sizeof(*names->known));
	names->known_count = names->coming_count;
	names->last_result = 0;
}

void container_names_work(struct container_names *names)
{
	struct names_message message;
	ssize_t got;

	while ((got = recv(names->socket, &message, sizeof(message), MSG_DONTWAIT)) > 0)
		if (got == sizeof(message))
			take(names, &message);
}

const char *container_names_words(struct container_names *names)
{
	const char *why;

	if (names->last_result == names->told_result)
		return NULL;
	names->told_result = names->last_result;
	switch (names->last_result) {
	case 0:
		return "they are known now";
	case -EBADMSG:
		why = "its answer is not that of Docker's API, which CRI has not";
		break;
	case -EPROTO:
		why = "it answered with an error";
		break;
	case -EIO:
		why = "what read its answer has ended over it";
		break;
	case -EFBIG:
		why = "its answer is too long";
		break;
	case -ETIMEDOUT:
		why = "it takes too long to answer";
		break;
	default:
		why = strerror(-names->last_result);
	}
	snprintf(names->words, sizeof(names->words), "%s; trying again", why);
	return names->words;
}

const char *container_names_find(const struct container_names *names, const char *id)
{
	struct container_name key;
	const struct container_name *found;

	snprintf(key.id, sizeof(key.id), "%s", id);
	found = bsearch(&key, names->known, names->known_count, sizeof(key), by_id);
	return found ? found->name : "";
}

size_t container_names_count(const struct container_names *names)
{
	return names->known_count;
}

uint64_t container_names_failures(const struct container_names *names)
{
	return names->failures;
}
