// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "serve/stall_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/forked.h"
#include "serve/keeper.h"
#include "serve/stall_recent.h"

static const struct keeper_pause restart_pause = {.ms = 100, .max_ms = 5000};

/* A session has room for so many different stacks, and never forgets one: another begins then. */
#define SESSION	   "1h"

#define LINE_BYTES (1 << 20)
#define PIPE_BYTES (1 << 20)

struct stall_watch {
	size_t count;
	pid_t starter;
	struct watched {
		struct stall_counts_of counts;
		int fd;
		struct stall_recent recent;
		char *line; /* what has come of it */
		size_t used, room;
		bool skips; /* to the end of a line that is too long */
	} watched[STALL_WATCHES];
};

/* Lines beside those of JSON: it is attached, and it has ended. */
#define READY "ready"
#define ENDED "ended"

struct stall_run {
	const char *name;
	uint64_t threshold_ns;
};

/* Becomes `dwell blocked`. */
static void become(void *data, int out, pid_t parent)
{
	const struct stall_run *run = data;
	char threshold[32], ready[16];
	/* by -n: a name alone might be of a program to run, and gets advice for that */
	const char *words[] = {"dwell", "blocked",    "-n",	     run->name, "--format",
			       "json",	"--headless", "--threshold", threshold, "--ready-fd",
			       ready,	"-d",	      SESSION,	     NULL};

	snprintf(threshold, sizeof(threshold), "%lluns", (unsigned long long)run->threshold_ns);
	forked_prepare(parent, out, out);
	snprintf(ready, sizeof(ready), "%d", dup(out));
	execv("/proc/self/exe", (char *const *)(uintptr_t)words);
	_exit(127);
}

static void report_end(void *data, int out)
{
	(void)data;
	(void)!write(out, "\n" ENDED "\n", sizeof("\n" ENDED "\n") - 1);
}

/* One process for each name: it starts `dwell blocked` again and again. */
static void keep(const char *name, uint64_t threshold_ns, int out, pid_t parent)
{
	struct stall_run run = {name, threshold_ns};
	int *kept[] = {&out};

	/* nothing of the caller's */
	if (forked_keep_only(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	keeper_begin(parent);
	keeper_repeat(become, &run, out, &restart_pause, report_end);
}

static void start_all(struct stall_watch *watch, const int *outs, uint64_t threshold_ns,
		      pid_t parent)
{
	pid_t own = getpid();

	keeper_begin(parent);
	for (size_t i = 0; i < watch->count; i++)
		switch (fork()) {
		case 0:
			keep(watch->watched[i].counts.process, threshold_ns, outs[i], own);
			break;
		case -1: /* none is watched rather than some: the daemon ends, and says why */
			_exit(1);
		}
	for (size_t i = 0; i < watch->count; i++)
		close(outs[i]);
	for (;;)
		pause();
}

int stall_watch_start(struct stall_watch **ret_watch, const char *const *names, size_t count,
		      uint64_t threshold_ns, struct error *error)
{
	struct stall_watch *watch = calloc(1, sizeof(*watch));
	int outs[STALL_WATCHES], result = 0;
	pid_t parent = getpid();

	if (!watch)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; result >= 0 && i < count && i < STALL_WATCHES; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0) {
			result = error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
			break;
		}
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
		watch->watched[watch->count] =
			(struct watched){.counts.process = names[i], .fd = ends[0]};
		outs[watch->count++] = ends[1];
	}
	if (result >= 0)
		watch->starter = fork();
	if (result >= 0 && !watch->starter)
		start_all(watch, outs, threshold_ns, parent);
	if (result >= 0 && watch->starter < 0)
		result = error_set(error, errno, "cannot start a process: %s", strerror(errno));
	for (size_t i = 0; i < watch->count; i++)
		close(outs[i]);
	if (result < 0)
		stall_watch_end(watch);
	else
		*ret_watch = watch;
	return result;
}

void stall_watch_end(struct stall_watch *watch)
{
	if (!watch)
		return;
	forked_end(watch->starter);
	for (size_t i = 0; i < watch->count; i++) {
		close(watch->watched[i].fd);
		free(watch->watched[i].line);
		stall_recent_release(&watch->watched[i].recent);
	}
	free(watch);
}

size_t stall_watch_count(const struct stall_watch *watch)
{
	return watch->count;
}

int stall_watch_descriptor(const struct stall_watch *watch, size_t index)
{
	return watch->watched[index].fd;
}

static void count_stall(struct stall_counts_of *counts, const json_t *line)
{
	json_int_t ns = json_integer_value(json_object_get(line, "own_ns"));
	const char *cause = json_string_value(json_object_get(line, "cause"));
	const char *function = json_string_value(json_object_get(line, "function"));

	for (int i = 0; cause && i < STALL_CAUSES_COUNT; i++)
		counts->by_cause[i] += !strcmp(cause, stall_cause_info[i].key);
	if (ns <= 0)
		return;
	counts->by_length[hotspot_bucket((uint64_t)ns)]++;
	counts->total_ns += (uint64_t)ns;
	counts->last_ns = (uint64_t)ns;
	counts->last_tid = (uint64_t)json_integer_value(json_object_get(line, "tid"));
	counts->last_start_ns = (uint64_t)json_integer_value(json_object_get(line, "start_ns"));
	if ((uint64_t)ns > counts->longest_ns)
		counts->longest_ns = (uint64_t)ns;
	snprintf(counts->function, sizeof(counts->function), "%s", function ? function : "");
}

static void take_json(struct watched *watched)
{
	json_t *line = json_loadb(watched->line, watched->used, JSON_ALLOW_NUL, NULL);
	const char *type = json_string_value(json_object_get(line, "type"));

	if (type && !strcmp(type, "stall")) {
		count_stall(&watched->counts, line);
		stall_recent_add(&watched->recent, watched->line, watched->used);
	} else if (type && !strcmp(type, "stuck_now")) {
		watched->counts.stuck = json_array_size(json_object_get(line, "workers"));
		stall_recent_set_stuck(&watched->recent,
				       watched->counts.stuck ? watched->line : NULL, watched->used);
	}
	json_decref(line);
}

/* Why there is nothing to watch; the same words come again with each try. */
static void take_words(struct watched *watched)
{
	struct stall_counts_of *counts = &watched->counts;
	char words[sizeof(counts->words)];

	snprintf(words, sizeof(words), "%.*s", (int)watched->used, watched->line);
	counts->words_are_new |= strcmp(words, counts->words) != 0;
	memcpy(counts->words, words, sizeof(words));
}

static bool is_line(const struct watched *watched, const char *text)
{
	return watched->used == strlen(text) && !memcmp(watched->line, text, watched->used);
}

static void take_line(struct watched *watched)
{
	if (is_line(watched, READY)) {
		watched->counts.is_up = true;
	} else if (is_line(watched, ENDED)) {
		watched->counts.is_up = false;
		watched->counts.stuck = 0;
		stall_recent_set_stuck(&watched->recent, NULL, 0);
	} else if (*watched->line == '{') {
		take_json(watched);
	} else if (watched->used) {
		take_words(watched);
	}
}

static void take(struct watched *watched, const char *bytes, size_t length)
{
	while (length) {
		const char *end = memchr(bytes, '\n', length);
		size_t part = end ? (size_t)(end - bytes) : length;

		if (watched->used + part > LINE_BYTES ||
		    array_reserve(&watched->line, &watched->room, watched->used + part + 1, 1) < 0)
			watched->skips = true;
		else
			memcpy(watched->line + watched->used, bytes, part);
		if (!watched->skips)
			watched->used += part;
		if (!end)
			return;
		if (!watched->skips)
			take_line(watched);
		watched->skips = false;
		watched->used = 0;
		bytes += part + 1;
		length -= part + 1;
	}
}

bool stall_watch_work(struct stall_watch *watch, size_t index)
{
	char bytes[65536];
	ssize_t got;

	while ((got = read(watch->watched[index].fd, bytes, sizeof(bytes))) > 0)
		take(&watch->watched[index], bytes, (size_t)got);
	return got < 0;
}

const char *stall_watch_words(struct stall_watch *watch, size_t index)
{
	struct stall_counts_of *counts = &watch->watched[index].counts;

	if (!counts->words_are_new)
		return NULL;
	counts->words_are_new = false;
	return counts->words;
}

const struct stall_recent *stall_watch_recent(const struct stall_watch *watch, size_t index)
{
	return &watch->watched[index].recent;
}

const struct stall_counts_of *stall_watch_counts(const struct stall_watch *watch, size_t index)
{
	return &watch->watched[index].counts;
}

void stall_watch_reset_longest(struct stall_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		watch->watched[i].counts.longest_ns = 0;
}
