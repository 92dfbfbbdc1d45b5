// SPDX-License-Identifier: GPL-2.0-or-later
/* The parent's side. */
#include "base/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_internal.h"

#define END_NS	100000000
#define LOOK_MS 10 /* how often a wait looks whether the helper has died */

struct helper {
	int fd;
	pid_t keeper;
	struct helper_shared *shared;
	uint64_t patience_ns;
	uint64_t asked,
		killed;	   /* numbers: of the last question; of the last one it was killed over */
	uint64_t lost;	   /* the last one that was reported */
	uint64_t heard_ns; /* when the last message came */
	struct helper_message message, received;
	size_t received_bytes, part_at; /* of a message of parts; where the next one is */
};

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
		helper_keep(work, context, helper->shared, pair[1], parent);
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
	struct helper_message *message = &helper->message;

	if (length > sizeof(message->bytes))
		return 0;
	message->head = (struct helper_message_head){.number = helper->asked + 1};
	memcpy(message->bytes, question, length);
	if (send(helper->fd, message, sizeof(message->head) + length, MSG_DONTWAIT | MSG_NOSIGNAL) <
	    0)
		return 0;
	return ++helper->asked;
}

/* A question that takes too long is the end of its helper. Nanoseconds it has taken; 0: none. */
static uint64_t look(struct helper *helper)
{
	uint64_t current = helper_load(&helper->shared->current), now_ns = clock_monotonic_ns();
	uint64_t from_ns = helper_load(&helper->shared->current_from_ns), took_ns;

	/* as long as we did not listen, it may have waited for room */
	from_ns = from_ns > helper->heard_ns ? from_ns : helper->heard_ns;
	took_ns = current && now_ns > from_ns ? now_ns - from_ns : 0;

	/* the number is read again: meanwhile it may be the next one's time */
	if (took_ns <= helper->patience_ns || helper_load(&helper->shared->current) != current)
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
	struct helper_part_head head;

	if (left < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.length > left - sizeof(head)) {
		helper->part_at = helper->received_bytes;
		return false;
	}
	helper->part_at +=
		helper_part_room(head.length) < left ? helper_part_room(head.length) : left;
	*ret_number = helper->received.head.number;
	*ret_length = head.length;
	memcpy(part, bytes + sizeof(head), head.length);
	return true;
}

static enum helper_state receive(struct helper *helper, uint64_t *ret_number, void *answer,
				 size_t *ret_length)
{
	struct helper_message *message = &helper->received;
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

/* A signal that ends the parent is pending: it handles signals between its waits. */
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
	lost = helper_load(&helper->shared->lost);
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
	return helper_load(&helper->shared->cpu_ns) + helper_load(&helper->shared->helper_cpu_ns) +
	       helper_load(&helper->shared->reader_cpu_ns);
}

uint64_t helper_restarts(const struct helper *helper)
{
	return helper_load(&helper->shared->restarts);
}
