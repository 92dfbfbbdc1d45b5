// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/push_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/forked.h"
#include "base/gzip.h"
#include "base/passing.h"
#include "base/snappy.h"
#include "serve/keeper.h"
#include "serve/push_protocol.h"
#include "serve/push_queue.h"
#include "serve/push_send.h"

/* After the first failure, and at most; half of it, up to all of it. */
#define PAUSE_NS      NS_PER_S
#define PAUSE_MOST_NS (60 * NS_PER_S)
#define REPORT_MS     100 /* again, where there was no room for a report */
#define GZIP_LEVEL    6

struct line {
	const struct push_engine *engine;
	struct push_queue *queue;
	struct push_status status;
	bool has_news; /* for the report */
	/* of what is wrong with it, to the user */
	enum { SAID_NOTHING, SAID_LATER, SAID_DROPPED } said;
	bool write_fails;
	struct kept sender; /* pid 0: none now */
	uint64_t sending;   /* the item's id; 0: none */
	unsigned int failures;
	uint64_t next_ns; /* CLOCK_MONOTONIC: not before */
	bool finishes;	  /* it has not been tried since PUSH_FINISH */
};

static struct pusher {
	const struct push_options *options;
	int socket, directory;
	struct line lines[PUSH_ENGINES];
	size_t count;
	bool is_finishing;
} pusher;

/* Behind what has not been reported yet, as far as there is room. */
__attribute__((format(printf, 2, 3))) static void say(struct line *line, const char *format, ...)
{
	char *words = line->status.words;
	size_t room = sizeof(line->status.words), used = strlen(words);
	va_list arguments;

	used += (size_t)snprintf(words + used, room - used, "%s", used ? "; " : "");
	va_start(arguments, format);
	if (used < room)
		vsnprintf(words + used, room - used, format, arguments);
	va_end(arguments);
	line->has_news = true;
}

static int pack(const struct push_engine *engine, char **bytes, size_t *length)
{
	char *packed = NULL;
	int result = 0;

	switch (push_protocols[engine->protocol].packing) {
	case PUSH_PLAIN:
		return 0;
	case PUSH_GZIP:
		result = gzip_pack(*bytes, *length, GZIP_LEVEL, &packed, length);
		break;
	case PUSH_SNAPPY:
		result = snappy_pack(*bytes, *length, &packed, length);
		break;
	}
	if (result < 0)
		return result;
	free(*bytes);
	*bytes = packed;
	return 0;
}

static void enqueue(struct line *line, struct push_item *item)
{
	struct error error = {""};
	unsigned int dropped = 0;
	int result = push_queue_add(line->queue, item, &dropped, &error);

	line->status.dropped[PUSH_DROPPED_FULL] += dropped;
	if (result < 0) {
		line->status.dropped[PUSH_DROPPED_LOST]++;
		return;
	}
	if (result > 0 && !line->write_fails)
		say(line, "%s; it is in memory, and lost if dwell is killed", error.text);
	line->write_fails = result > 0;
}

static void take(struct line *line, const struct push_batch *batch, int fd)
{
	struct push_item item = {.length = batch->length};

	if (batch->length <= PUSH_BATCH_MOST)
		item.bytes = file_bytes(fd, batch->length);

	line->status.taken = batch->number;
	line->has_news = true;
	memcpy(item.query, batch->query, sizeof(item.query));
	if (item.bytes && pack(line->engine, &item.bytes, &item.length) >= 0) {
		enqueue(line, &item);
		return;
	}
	free(item.bytes);
	line->status.dropped[PUSH_DROPPED_LOST]++;
}

static void finish(void)
{
	pusher.is_finishing = true;
	for (size_t i = 0; i < pusher.count; i++) {
		pusher.lines[i].finishes = !pusher.lines[i].sending;
		pusher.lines[i].next_ns = 0;
		pusher.lines[i].has_news = true;
	}
}

/* False: nothing has come. */
static bool hear(void)
{
	struct push_batch batch;
	int fd = -1;
	ssize_t got = passing_receive(pusher.socket, &batch, sizeof(batch), &fd, MSG_DONTWAIT);

	if (got == -EAGAIN || got == -EINTR)
		return false;
	if (got <= 0)
		_exit(0); /* the parent has ended */
	if (got == sizeof(batch) && batch.kind == PUSH_FINISH)
		finish();
	else if (got == sizeof(batch) && batch.engine < pusher.count)
		take(&pusher.lines[batch.engine], &batch, fd);
	if (fd >= 0)
		close(fd);
	return true;
}

/* Half of the pause is by chance, so that a thousand machines do not come back at once. */
static uint64_t pause_ns(const struct line *line)
{
	uint64_t ns = line->failures < 16 ? PAUSE_NS << line->failures : PAUSE_MOST_NS;
	uint32_t chance = 0;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance = (uint32_t)clock_monotonic_ns();
	if (ns > PAUSE_MOST_NS)
		ns = PAUSE_MOST_NS;
	return ns / 2 + (uint64_t)((double)(ns / 2) * (double)chance / (double)UINT32_MAX);
}

static void put_off(struct line *line, uint32_t at_least_s, const char *words)
{
	uint64_t ns = pause_ns(line);

	push_queue_put_back(line->queue);
	if (at_least_s)
		ns = at_least_s * NS_PER_S + ns / 2;
	line->failures++;
	line->next_ns = clock_monotonic_ns() + ns;
	line->has_news = true;
	if (line->said != SAID_LATER)
		say(line, "%s; trying again", words);
	line->said = SAID_LATER;
}

static void end_sender(struct line *line)
{
	keeper_end(&line->sender);
	line->sending = 0;
}

static void account(struct line *line, const struct push_result *result)
{
	line->sending = 0;
	line->finishes = false;
	line->has_news = true;
	switch ((enum push_outcome)result->outcome) {
	case PUSH_SENT:
		push_queue_remove(line->queue, result->number);
		line->status.sent++;
		if (line->said != SAID_NOTHING)
			say(line, "batches are sent again");
		line->said = SAID_NOTHING;
		line->failures = 0;
		break;
	case PUSH_PARTLY:
	case PUSH_REFUSED:
		push_queue_remove(line->queue, result->number);
		line->status.dropped[PUSH_DROPPED_REFUSED]++;
		if (line->said != SAID_DROPPED)
			say(line, "%s; such batches %s", result->words,
			    result->outcome == PUSH_PARTLY ? "count as refused" : "are dropped");
		line->said = SAID_DROPPED;
		line->failures = 0;
		break;
	case PUSH_LATER:
		put_off(line, result->later_s, result->words);
		break;
	}
}

/* The process may have been taken over. */
static void hear_sender(struct line *line)
{
	struct push_result result;
	ssize_t got = recv(line->sender.socket, &result, sizeof(result), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == sizeof(result) && line->sending && result.number == line->sending &&
	    result.outcome >= PUSH_SENT && result.outcome <= PUSH_LATER) {
		result.words[sizeof(result.words) - 1] = '\0';
		account(line, &result);
		return;
	}
	end_sender(line);
	line->finishes = false;
	put_off(line, 0, "the process that sends has ended");
}

static void run_sender(void *data, int socket, pid_t parent)
{
	/* of what other engines are shown */
	for (size_t i = 0; i < pusher.count; i++) {
		char *token =
			pusher.lines[i].engine == data ? NULL : pusher.options->engines[i].token;

		if (token)
			explicit_bzero(token, strlen(token));
	}
	push_send_run(data, socket, parent);
}

/* A batch as a file in memory: the process that sends can open nothing. */
static bool give(struct line *line, const struct push_item *item)
{
	struct push_request request = {.number = item->id, .length = item->length};
	cleanup_close int fd = file_in_memory("dwell-push");

	memcpy(request.query, item->query, sizeof(request.query));
	return fd >= 0 && file_write(fd, item->bytes, item->length) >= 0 &&
	       passing_send(line->sender.socket, &request, sizeof(request), fd, MSG_DONTWAIT) >= 0;
}

static bool has_sender(struct line *line)
{
	const struct keeper keeper = {
		.run = run_sender, .data = (void *)(uintptr_t)line->engine, .once = true};

	return line->sender.pid > 0 || keeper_start(&line->sender, &keeper, NULL) >= 0;
}

static void send_next(struct line *line)
{
	struct push_item item;
	int found = push_queue_first(line->queue, &item);

	if (found == -EBADMSG) {
		line->status.dropped[PUSH_DROPPED_CORRUPT]++;
		say(line, "a file of the queue is not as it was written; it is left out");
	} else if (found < 0) {
		put_off(line, 0, strerror(-found));
	} else if (found) {
		if (has_sender(line) && give(line, &item)) {
			line->sending = item.id;
		} else {
			end_sender(line);
			put_off(line, 0, "cannot start a process that sends");
		}
		free(item.bytes);
	}
}

/* Starts what is due; how long nothing else is, ms. */
static int work(void)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns = UINT64_MAX;

	for (size_t i = 0; i < pusher.count; i++) {
		struct line *line = &pusher.lines[i];

		while (!line->sending && push_queue_count(line->queue) && line->next_ns <= now_ns)
			send_next(line);
		if (!push_queue_count(line->queue))
			line->finishes = false;
		if (!line->sending && push_queue_count(line->queue) && line->next_ns < next_ns)
			next_ns = line->next_ns;
	}
	if (next_ns == UINT64_MAX)
		return -1;
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / NS_PER_MS) + 1;
}

/* Has all been tried that can be now? */
static bool has_finished(const struct line *line)
{
	bool is_empty = !push_queue_count(line->queue);

	return pusher.is_finishing && !line->sending && !line->finishes &&
	       (is_empty || line->next_ns > clock_monotonic_ns());
}

/* False: there is no room for all reports now. */
static bool report(void)
{
	for (size_t i = 0; i < pusher.count; i++) {
		struct line *line = &pusher.lines[i];

		if (!line->has_news)
			continue;
		line->status.queued = push_queue_count(line->queue);
		line->status.queue_bytes = push_queue_bytes(line->queue);
		line->status.has_finished = has_finished(line);
		if (send(pusher.socket, &line->status, sizeof(line->status),
			 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return errno != EAGAIN;
		line->has_news = false;
		*line->status.words = '\0';
	}
	return true;
}

static void open_queues(void)
{
	for (size_t i = 0; i < pusher.count; i++) {
		struct line *line = &pusher.lines[i];
		struct error error = {""};

		*line = (struct line){.engine = &pusher.options->engines[i],
				      .sender = KEPT_NONE,
				      .has_news = true,
				      .status = {.engine = (uint32_t)i, .pid = (uint32_t)getpid()}};
		if (push_queue_open(&line->queue, pusher.directory, line->engine->given,
				    pusher.options->queue_bytes, &error) < 0) {
			say(line, "%s", error.text);
			if (push_queue_open(&line->queue, -1, line->engine->given,
					    pusher.options->queue_bytes, &error) < 0)
				_exit(1);
		}
		line->status.found = push_queue_count(line->queue);
	}
}

static void loop(void)
{
	for (;;) {
		struct pollfd fds[1 + PUSH_ENGINES] = {{.fd = pusher.socket, .events = POLLIN}};
		int patience_ms = work();

		if (!report() && (patience_ms < 0 || patience_ms > REPORT_MS))
			patience_ms = REPORT_MS;
		for (size_t i = 0; i < pusher.count; i++)
			fds[1 + i] = (struct pollfd){.fd = pusher.lines[i].sender.socket,
						     .events = POLLIN};
		if (poll(fds, (nfds_t)(1 + pusher.count), patience_ms) <= 0)
			continue;
		if (fds[0].revents)
			while (hear())
				;
		for (size_t i = 0; i < pusher.count; i++)
			if (fds[1 + i].revents)
				hear_sender(&pusher.lines[i]);
	}
}

void push_run(const struct push_options *options, int directory, int socket, pid_t parent)
{
	int *kept[] = {&socket, &directory};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	forked_silence();
	if (forked_keep_only(kept, directory < 0 ? 1 : 2) < 0)
		_exit(1);
	keeper_begin(parent);
	pusher.options = options;
	pusher.socket = socket;
	pusher.directory = directory;
	pusher.count = options->count;
	open_queues();
	loop();
	_exit(0);
}
