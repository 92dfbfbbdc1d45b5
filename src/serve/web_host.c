// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/web_host.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/passing.h"
#include "base/patience.h"
#include "serve/keeper.h"

#define READY_NS (10 * NS_PER_S)

struct web_host {
	struct kept kept;
};

/* Making a process of another user in an empty root directory. */
static const int keeping_rights[] = {CAP_KILL, CAP_SETUID, CAP_SETGID, CAP_SYS_CHROOT};

static void run(void *data, int socket, pid_t parent)
{
	web_run(data, socket, parent);
}

/* The first that the process sends: whether it serves. */
static int await_start(struct web_host *host, struct error *error)
{
	struct pollfd fd = {.fd = host->kept.socket, .events = POLLIN};
	uint64_t deadline_ns =
		clock_monotonic_ns() + (uint64_t)((double)READY_NS * patience_factor());
	char ready = 0;

	if (await_ready(&fd, 1, deadline_ns) > 0 &&
	    recv(host->kept.socket, &ready, 1, MSG_DONTWAIT) == 1 && ready)
		return 0;
	return error_set(error, EINVAL, "cannot serve: the certificate or its key cannot be used");
}

int web_host_start(struct web_host **ret_host, const struct web_options *options,
		   struct error *error)
{
	const struct keeper keeper = {.run = run,
				      .data = (void *)(uintptr_t)options,
				      .rights = keeping_rights,
				      .right_count = ARRAY_SIZE(keeping_rights)};
	struct web_host *host = calloc(1, sizeof(*host));
	int result;

	if (!host)
		return error_set(error, ENOMEM, "out of memory");
	result = keeper_start(&host->kept, &keeper, error);
	if (result >= 0)
		result = await_start(host, error);
	if (result < 0)
		web_host_end(host);
	else
		*ret_host = host;
	return result;
}

void web_host_end(struct web_host *host)
{
	if (!host)
		return;
	keeper_end(&host->kept);
	free(host);
}

void web_host_beat(struct web_host *host)
{
	const struct web_answer beat = {.number = 0};

	/* one that cannot take it now will take the next one */
	(void)!send(host->kept.socket, &beat, sizeof(beat), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int web_host_descriptor(const struct web_host *host)
{
	return host->kept.socket;
}

/* It may have been taken over. */
static bool is_sound(const struct web_question *question)
{
	if (question->ask == WEB_PROFILE)
		return question->arguments[0] && question->arguments[0] <= 3600 &&
		       question->arguments[2] < WEB_PROFILE_KINDS;
	return question->ask && question->ask < WEB_ASKS;
}

int web_host_next(struct web_host *host, struct web_question *ret_question)
{
	for (;;) {
		ssize_t got =
			recv(host->kept.socket, ret_question, sizeof(*ret_question), MSG_DONTWAIT);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0 || (got < 0 && errno == ECONNRESET))
			return -ECHILD;
		if (got < 0)
			return 0;
		if (got == sizeof(*ret_question) && is_sound(ret_question))
			return 1;
	}
}

void web_host_answer_file(struct web_host *host, uint64_t number, unsigned int status,
			  const char *type, int fd, uint64_t length)
{
	struct web_answer answer = {.number = number, .length = length, .status = status};

	snprintf(answer.type, sizeof(answer.type), "%s", type);
	if (passing_send(host->kept.socket, &answer, sizeof(answer), fd, MSG_DONTWAIT) < 0) {
		/* it has died, and its clients have lost their connections */
	}
}

void web_host_answer(struct web_host *host, const struct web_question *question,
		     unsigned int status, const char *type, const void *bytes, size_t length)
{
	cleanup_close int fd = file_in_memory("dwell-answer");

	if (fd >= 0 && file_write(fd, bytes, length) >= 0)
		web_host_answer_file(host, question->number, status, type, fd, length);
}
