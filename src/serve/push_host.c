// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/push_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/passing.h"
#include "serve/keeper.h"
#include "serve/push_queue.h"
#include "serve/push_run.h"

#define DIRECTORY "push"

const char *const push_dropped_keys[PUSH_DROPPED_REASONS] = {
	[PUSH_DROPPED_FULL] = "queue_full", [PUSH_DROPPED_REFUSED] = "refused",
	[PUSH_DROPPED_CORRUPT] = "corrupt", [PUSH_DROPPED_BUSY] = "busy",
	[PUSH_DROPPED_LOST] = "lost",
};

/* Counters go on when a process with a queue is followed by another one. */
struct account {
	uint64_t given; /* the last number */
	uint64_t found; /* in the queue at the start, of an earlier dwell */
	struct push_status last;
	struct push_counts before; /* of the processes before that one */
	struct push_counts counts;
	char words[PUSH_WORDS_BYTES];
	bool has_words;
};

struct push_host {
	struct kept kept;
	struct push_options options; /* a copy, of which strings are not owned */
	int directory;		     /* -1: none */
	struct account accounts[PUSH_ENGINES];
};

/* Making processes of another user, and files in a directory that may belong to one. */
static const int keeping_rights[] = {CAP_KILL, CAP_SETUID, CAP_SETGID, CAP_DAC_OVERRIDE};

static void run(void *data, int socket, pid_t parent)
{
	const struct push_host *host = data;

	push_run(&host->options, host->directory, socket, parent);
}

static int open_directory(const char *store, struct error *error)
{
	cleanup_close int above = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	int fd;

	if (above < 0)
		return error_set(error, errno, "cannot open %s: %s", store, strerror(errno));
	if (mkdirat(above, DIRECTORY, 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "cannot make %s/" DIRECTORY ": %s", store,
				 strerror(errno));
	fd = openat(above, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return error_set(error, code, "cannot open %s/" DIRECTORY ": %s", store,
				 strerror(code));
	}
	if (status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return error_set(error, EPERM,
			 "%s/" DIRECTORY " is another user's, or others can write to it: what is "
			 "there would be sent as if it were dwell's",
			 store);
}

static size_t count_foreign(const struct push_host *host)
{
	const char *names[PUSH_ENGINES];

	for (size_t i = 0; i < host->options.count; i++)
		names[i] = host->options.engines[i].given;
	return push_queue_foreign(host->directory, names, host->options.count);
}

int push_host_start(struct push_host **ret_host, const struct push_options *options,
		    const char *store, size_t *ret_foreign, struct error *error)
{
	struct push_host *host = calloc(1, sizeof(*host));
	const struct keeper keeper = {.run = run,
				      .data = host,
				      .rights = keeping_rights,
				      .right_count = ARRAY_SIZE(keeping_rights)};
	int result = 0;

	*ret_foreign = 0;
	if (!host)
		return error_set(error, ENOMEM, "out of memory");
	host->kept = KEPT_NONE;
	host->options = *options;
	host->directory = -1;
	if (store) {
		result = open_directory(store, error);
		host->directory = result < 0 ? -1 : result;
	}
	if (result >= 0 && store)
		*ret_foreign = count_foreign(host);
	if (result >= 0)
		result = keeper_start(&host->kept, &keeper, error);
	if (result < 0)
		push_host_end(host);
	else
		*ret_host = host;
	return result;
}

void push_host_end(struct push_host *host)
{
	if (!host)
		return;
	keeper_end(&host->kept);
	if (host->directory >= 0)
		close(host->directory);
	free(host);
}

int push_host_descriptor(const struct push_host *host)
{
	return host->kept.socket;
}

/* What a process had been given, or had found, and has neither sent nor dropped nor queued. */
static void count_lost(struct account *account)
{
	struct push_counts *counts = &account->counts;
	uint64_t all = account->last.taken + account->found;
	uint64_t known = account->last.queued + counts->sent;

	/* one that has just begun: what waits for it in the socket is not lost */
	if (!account->last.taken)
		return;
	for (size_t i = 0; i < PUSH_DROPPED_REASONS; i++)
		if (i != PUSH_DROPPED_BUSY)
			known += counts->dropped[i];
	if (all <= known)
		return;
	account->before.dropped[PUSH_DROPPED_LOST] += all - known;
	counts->dropped[PUSH_DROPPED_LOST] += all - known;
}

static void take(struct account *account, const struct push_status *status)
{
	struct push_counts *counts = &account->counts, *before = &account->before;

	if (!account->last.pid)
		account->found = status->found;
	else if (account->last.pid != status->pid)
		*before = *counts;
	account->last = *status;
	account->last.words[PUSH_WORDS_BYTES - 1] = '\0';
	counts->sent = before->sent + status->sent;
	for (size_t i = 0; i < PUSH_DROPPED_REASONS; i++)
		if (i != PUSH_DROPPED_BUSY)
			counts->dropped[i] = before->dropped[i] + status->dropped[i];
	counts->queue_bytes = status->queue_bytes;
	count_lost(account);
	if (*account->last.words) {
		memcpy(account->words, account->last.words, sizeof(account->words));
		account->has_words = true;
	}
}

bool push_host_work(struct push_host *host)
{
	struct push_status status;
	ssize_t got;

	while ((got = recv(host->kept.socket, &status, sizeof(status), MSG_DONTWAIT)) > 0)
		if (got == sizeof(status) && status.engine < host->options.count)
			take(&host->accounts[status.engine], &status);
	return got < 0;
}

const char *push_host_words(struct push_host *host, size_t engine)
{
	struct account *account = &host->accounts[engine];

	if (!account->has_words)
		return NULL;
	account->has_words = false;
	return account->words;
}

static bool hand_over(struct push_host *host, const struct push_batch *batch, const void *bytes)
{
	cleanup_close int fd = file_in_memory("dwell-push");

	return fd >= 0 && file_write(fd, bytes, batch->length) >= 0 &&
	       passing_send(host->kept.socket, batch, sizeof(*batch), fd, MSG_DONTWAIT) >= 0;
}

void push_host_give(struct push_host *host, size_t engine, const char *query, const void *bytes,
		    size_t length)
{
	struct account *account = &host->accounts[engine];
	struct push_batch batch = {.kind = PUSH_BATCH,
				   .engine = (uint32_t)engine,
				   .number = account->given + 1,
				   .length = length};

	snprintf(batch.query, sizeof(batch.query), "%s", query);
	if (length <= PUSH_BATCH_MOST && hand_over(host, &batch, bytes))
		account->given++;
	else
		account->counts.dropped[PUSH_DROPPED_BUSY]++;
}

static bool has_finished(const struct push_host *host)
{
	for (size_t i = 0; i < host->options.count; i++)
		if (!host->accounts[i].last.has_finished)
			return false;
	return true;
}

void push_host_finish(struct push_host *host, uint64_t deadline_ns)
{
	const struct push_batch batch = {.kind = PUSH_FINISH};
	struct pollfd fd = {.fd = host->kept.socket, .events = POLLIN};

	if (passing_send(host->kept.socket, &batch, sizeof(batch), -1, MSG_DONTWAIT) < 0)
		return;
	while (!has_finished(host) && clock_monotonic_ns() < deadline_ns &&
	       await_ready(&fd, 1, deadline_ns) >= 0)
		if (!push_host_work(host))
			return;
}

const struct push_counts *push_host_counts(const struct push_host *host, size_t engine)
{
	return &host->accounts[engine].counts;
}
