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

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/helper_internal.h"
#include "base/schedstat.h"

#define END_NS	(100 * NS_PER_MS)
#define LOOK_MS 10 /* how often a wait looks whether the helper has died */

/* How long one question may take, parts of its answer included; how much the parts may be. */
#define PATIENCES	6
#define PARTS_BYTES_MAX (64 << 20)
/* Messages in a row that belong to no question. */
#define STRANGE_MAX 64

struct helper {
	int fd;
	pid_t keeper;
	struct helper_shared *shared;
	uint64_t patience_ns;
	uint64_t asked, done;	     /* numbers: of the last question; of the last one that ended */
	uint64_t lost;		     /* those after `done`, up to this one, are */
	uint64_t killed, killed_ns;  /* the last one it was killed over, and when */
	uint64_t front_ns, heard_ns; /* since when done + 1 is next; when parts came last */
	uint64_t watched_from_ns;    /* the later of them, when its clocks were read: */
	uint64_t watched_ns;	     /* at this time */
	struct schedstat watched;
	uint64_t deaths;
	bool gone;			/* the keeper */
	struct helper_message received; /* not taken yet, if it has bytes */
	size_t received_bytes;
	size_t parts_bytes, part_at; /* of a message of parts; where the next one is */
	uint64_t parts_all_bytes;    /* of the answer so far */
};

int helper_start(struct helper **ret_helper, const struct helper_work *work, const void *context,
		 struct error *error)
{
	struct helper *helper = calloc(1, sizeof(*helper));
	pid_t parent = getpid();
	int pair[2], code;

	if (!helper)
		return error_set(error, ENOMEM, "out of memory");
	*helper = (struct helper){.fd = -1, .patience_ns = work->patience_ns};
	helper->shared = mmap(NULL, sizeof(*helper->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (helper->shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		code = errno;
		helper->shared = helper->shared == MAP_FAILED ? NULL : helper->shared;
		helper_end(helper);
		return error_set(error, code, "cannot start a helper: %s", strerror(code));
	}
	helper->fd = pair[0];
	helper->keeper = fork();
	code = errno;
	if (!helper->keeper)
		helper_keep(work, context, helper->shared, pair[1], parent);
	close(pair[1]);
	if (helper->keeper < 0) {
		helper->keeper = 0;
		helper_end(helper);
		return error_set(error, code, "cannot fork: %s", strerror(code));
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
	forked_end(keeper);
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

uint64_t helper_ask_both(struct helper *helper, const void *first, size_t first_length,
			 const void *second, size_t second_length)
{
	struct helper_message_head head = {helper->asked + 1, HELPER_QUESTION};
	struct iovec parts[] = {{&head, sizeof(head)},
				{(void *)first, first_length},
				{(void *)second, second_length}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};

	if (first_length + second_length > HELPER_MESSAGE_BYTES || helper->gone ||
	    sendmsg(helper->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return 0;
	if (helper->done == helper->asked)
		helper->front_ns = clock_monotonic_ns();
	return ++helper->asked;
}

uint64_t helper_ask(struct helper *helper, const void *question, size_t length)
{
	return helper_ask_both(helper, question, length, NULL, 0);
}

/* The helper works on done + 1. */
static void kill_it(struct helper *helper)
{
	uint64_t now_ns = clock_monotonic_ns();

	/* again, as the signal may have come between two helpers */
	if (helper->killed != helper->done + 1 ||
	    now_ns - helper->killed_ns > helper->patience_ns) {
		kill(helper->keeper, SIGUSR1);
		helper->killed_ns = now_ns;
	}
	helper->killed = helper->done + 1;
}

static bool watch(struct helper *helper, uint64_t from_ns, uint64_t now_ns,
		  const struct schedstat *now)
{
	helper->watched_from_ns = from_ns;
	helper->watched_ns = now_ns;
	helper->watched = *now;
	return false;
}

/*
 * It has worked on one question from from_ns on, for too long. But a helper that gets no CPU, on a
 * busy machine, does not hang: as long as it waits for one most of the time, it goes on.
 */
static bool is_stuck(struct helper *helper, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t half_ns = helper->patience_ns / 2;
	const struct schedstat *then = &helper->watched;
	struct children_schedstat now;

	if (now_ns - from_ns <= half_ns ||
	    (helper->watched_from_ns == from_ns && now_ns - helper->watched_ns <= half_ns))
		return false;
	now = schedstat_of_children(helper->keeper);
	if (helper->watched_from_ns != from_ns || now.sum.count < then->count)
		return watch(helper, from_ns, now_ns, &now.sum);
	/* a wait counts when it has ended */
	if (now.sum.delay_ns - then->delay_ns > half_ns / 2 ||
	    (now.any_ready && now.sum.cpu_ns - then->cpu_ns < half_ns / 2))
		return watch(helper, from_ns, now_ns, &now.sum);
	return true;
}

/* A question that takes too long is the end of its helper. Nanoseconds it has taken. */
static uint64_t look(struct helper *helper, uint64_t now_ns)
{
	/* as long as we did not listen, it may have waited for room */
	uint64_t from_ns =
		helper->front_ns > helper->heard_ns ? helper->front_ns : helper->heard_ns;

	if (helper->done == helper->asked)
		return 0;
	if (is_stuck(helper, from_ns, now_ns) ||
	    now_ns - helper->front_ns > PATIENCES * helper->patience_ns)
		kill_it(helper);
	return now_ns - from_ns;
}

/* One more question has ended: the next one's time begins. */
static uint64_t end_question(struct helper *helper)
{
	helper->front_ns = clock_monotonic_ns();
	helper->parts_all_bytes = 0;
	return ++helper->done;
}

/* Of the parts that came last. What a helper sends may be anything. */
static bool next_part(struct helper *helper, void *part, size_t *ret_length)
{
	const uint8_t *bytes = helper->received.bytes + helper->part_at;
	size_t left = helper->parts_bytes - helper->part_at;
	struct helper_part_head head;

	if (left < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.length > left - sizeof(head)) {
		helper->part_at = helper->parts_bytes;
		return false;
	}
	helper->part_at +=
		helper_part_room(head.length) < left ? helper_part_room(head.length) : left;
	*ret_length = head.length;
	memcpy(part, bytes + sizeof(head), head.length);
	return true;
}

/* False: nothing has come. */
static bool receive(struct helper *helper)
{
	ssize_t got;

	if (helper->received_bytes)
		return true;
	got = recv(helper->fd, &helper->received, sizeof(helper->received), MSG_DONTWAIT);
	if (got >= (ssize_t)sizeof(helper->received.head)) {
		helper->received_bytes = (size_t)got;
		return true;
	}
	if (!got || (got < 0 && errno != EAGAIN && errno != EINTR)) {
		helper->gone = true;
		helper->lost = helper->asked;
	}
	return false;
}

/* The keeper's word, or one who speaks for it: what that costs is an answer. */
static void take_death(struct helper *helper)
{
	uint64_t number = helper->received.head.number;

	helper->deaths++;
	if (number > helper->done && number <= helper->asked)
		helper->lost = number;
	else if (helper->killed == helper->done + 1 && helper->done < helper->asked)
		helper->lost = helper->killed;
}

/*
 * The message that has come. HELPER_NONE: it says nothing for the caller, or not yet, as what was
 * asked before is lost.
 */
static enum helper_state take(struct helper *helper, bool *ret_strange, void *answer,
			      size_t *ret_length)
{
	const struct helper_message_head *head = &helper->received.head;
	size_t bytes = helper->received_bytes - sizeof(*head);

	*ret_strange = false;
	if (head->kind != HELPER_DIED && head->number > helper->done + 1 &&
	    head->number <= helper->asked) {
		helper->lost = head->number - 1;
		return HELPER_NONE;
	}
	helper->received_bytes = 0;
	if (head->kind == HELPER_DIED) {
		take_death(helper);
		return HELPER_NONE;
	}
	if (head->number != helper->done + 1 || head->number > helper->asked ||
	    (head->kind != HELPER_ANSWER && head->kind != HELPER_PARTS)) {
		*ret_strange = true;
		return HELPER_NONE;
	}
	if (head->kind == HELPER_PARTS) {
		helper->parts_all_bytes += bytes;
		if (helper->parts_all_bytes > PARTS_BYTES_MAX) {
			kill_it(helper);
			return HELPER_NONE;
		}
		helper->part_at = 0;
		helper->parts_bytes = bytes;
		helper->heard_ns = clock_monotonic_ns();
		return HELPER_PART;
	}
	*ret_length = bytes;
	memcpy(answer, helper->received.bytes, bytes);
	end_question(helper);
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

enum helper_state helper_next(struct helper *helper, uint64_t deadline_ns, uint64_t single_ns,
			      uint64_t *ret_number, void *answer, size_t *ret_length)
{
	struct pollfd fds = {.fd = helper->fd, .events = POLLIN};

	for (unsigned int strange_count = 0;;) {
		uint64_t now_ns;

		if (helper->lost > helper->done) {
			helper->parts_bytes = helper->part_at = 0;
			*ret_number = end_question(helper);
			return HELPER_LOST;
		}
		if (next_part(helper, answer, ret_length)) {
			*ret_number = helper->done + 1;
			return HELPER_PART;
		}
		if (receive(helper)) {
			bool strange;
			enum helper_state came = take(helper, &strange, answer, ret_length);

			if (came == HELPER_ANSWERED) {
				*ret_number = helper->done;
				return came;
			}
			strange_count += strange;
			if (strange_count <= STRANGE_MAX)
				continue;
			kill_it(helper);
			return HELPER_NONE;
		}
		if (helper->gone) {
			if (helper->lost > helper->done)
				continue;
			return HELPER_NONE;
		}
		now_ns = clock_monotonic_ns();
		/* signals last: what has come is taken without asking for them */
		if (look(helper, now_ns) > single_ns || now_ns >= deadline_ns || is_ending())
			return HELPER_NONE;
		(void)!poll(&fds, 1,
			    deadline_ns - now_ns < LOOK_MS * NS_PER_MS
				    ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1
				    : LOOK_MS);
	}
}

int helper_descriptor(const struct helper *helper)
{
	return helper->gone ? -1 : helper->fd;
}

uint64_t helper_cpu_ns(const struct helper *helper)
{
	return helper_load(&helper->shared->cpu_ns) + helper_load(&helper->shared->helper_cpu_ns) +
	       helper_load(&helper->shared->reader_cpu_ns);
}

uint64_t helper_deaths(const struct helper *helper)
{
	return helper->deaths;
}

bool helper_is_gone(const struct helper *helper)
{
	return helper->gone;
}
