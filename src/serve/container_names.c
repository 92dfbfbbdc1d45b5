// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/container_names.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/patience.h"
#include "base/sandbox.h"
#include "serve/keeper.h"

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
	struct kept kept;
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
	sandbox_limit(RLIMIT_CORE, 0);
	sandbox_limit(RLIMIT_FSIZE, 0);
	sandbox_limit(RLIMIT_DATA, MEMORY_BYTES);
	sandbox_limit(RLIMIT_CPU, CPU_SECONDS);
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

	if (engine < 0) {
		tell_result(socket, engine);
		return;
	}
	pid = fork();
	if (!pid)
		read_names(engine, socket, own);
	close(engine);
	if (forked_await(pid))
		tell_result(socket, -EIO);
}

/* Nothing of the caller's but the socket to it; it reads nothing that others have written. */
static void ask(void *data, int socket, pid_t parent)
{
	static const int rights[] = {CAP_KILL, CAP_SETUID, CAP_SETGID, CAP_SYS_CHROOT,
				     CAP_DAC_OVERRIDE};
	int *kept[] = {&socket};

	forked_silence();
	if (forked_keep_only(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	sandbox_keep(rights, ARRAY_SIZE(rights));
	keeper_begin(parent);
	for (;;) {
		ask_once(data, socket);
		clock_sleep_ms(EVERY_MS);
	}
}

int container_names_start(struct container_names **ret_names, const char *path, struct error *error)
{
	const struct keeper keeper = {.run = ask, .data = (void *)(uintptr_t)path, .once = true};
	struct container_names *names = calloc(1, sizeof(*names));
	int result;

	if (!names)
		return error_set(error, ENOMEM, "out of memory");
	result = keeper_start(&names->kept, &keeper, error);
	if (result < 0)
		container_names_end(names);
	else
		*ret_names = names;
	return result;
}

void container_names_end(struct container_names *names)
{
	if (!names)
		return;
	keeper_end(&names->kept);
	free(names);
}

int container_names_descriptor(const struct container_names *names)
{
	return names->kept.socket;
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

bool container_names_work(struct container_names *names)
{
	struct names_message message;
	ssize_t got;

	while ((got = recv(names->kept.socket, &message, sizeof(message), MSG_DONTWAIT)) > 0)
		if (got == sizeof(message))
			take(names, &message);
	return got < 0;
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
		why = "its answer is not in the format of Docker's API (a CRI socket has another "
		      "one)";
		break;
	case -EPROTO:
		why = "it answered with an error";
		break;
	case -EIO:
		why = "the process that read its answer has died";
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
