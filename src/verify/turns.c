// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "verify/await.h"
#include "base/forked.h"
#include "verify/pattern.h"
#include "verify/verify.h"

#define PERIOD_NS  (10 * NS_PER_MS) /* of turns */
#define BLOCK_NS   (25 * NS_PER_MS)
#define GOOD_TURNS 3 /* between those that block */
#define EDGE_NS	   (200 * NS_PER_MS)
#define WORDS	   24

/* In memory that the processes share. */
struct shared {
	atomic_uint count;
	struct timed_turn turns[TURNS_MAX];
};

/* The loop's process. */
struct service {
	pthread_mutex_t mutex;
	int to_helper[2], from_helper[2];
};

/* Asked by a byte: holds the mutex, or keeps the loop waiting for a byte. */
static void *help(void *data)
{
	struct service *service = data;
	char what;

	while (read(service->to_helper[0], &what, 1) == 1) {
		if (what == TURN_LOCK)
			pthread_mutex_lock(&service->mutex);
		if (what == TURN_LOCK && write(service->from_helper[1], "", 1) != 1)
			break;
		sleep_ns(BLOCK_NS);
		if (what == TURN_LOCK)
			pthread_mutex_unlock(&service->mutex);
		else if (write(service->from_helper[1], "", 1) != 1)
			break;
	}
	return NULL;
}

/* Returns what it was above all: the helper may be late, and so the mutex's holder. */
static enum turn_cause block(struct service *service, enum turn_cause cause)
{
	uint64_t began_ns = now_ns(), held_ns;
	char what = (char)cause, byte;

	if (cause == TURN_SLEEP)
		sleep_ns(BLOCK_NS);
	else if (cause == TURN_CPU)
		spin_wall_ns(BLOCK_NS);
	else if (cause != TURN_GOOD && (write(service->to_helper[1], &what, 1) != 1 ||
					read(service->from_helper[0], &byte, 1) != 1))
		die("pipe");
	if (cause != TURN_LOCK)
		return cause;
	held_ns = now_ns();
	pthread_mutex_lock(&service->mutex);
	pthread_mutex_unlock(&service->mutex);
	return held_ns - began_ns > now_ns() - held_ns ? TURN_IPC : TURN_LOCK;
}

static void take_turn(struct service *service, struct shared *shared, unsigned int number)
{
	struct timed_turn turn = {.cause = number % (GOOD_TURNS + 1)
						   ? TURN_GOOD
						   : 1 + number / (GOOD_TURNS + 1) %
								     (TURN_CAUSES - 1)};
	unsigned int at = atomic_load(&shared->count);

	turn.start_ns = now_ns();
	turn.cause = block(service, turn.cause);
	turn.end_ns = now_ns();
	if (at >= TURNS_MAX)
		return;
	shared->turns[at] = turn;
	atomic_store(&shared->count, at + 1);
}

static _Noreturn void serve(struct shared *shared)
{
	struct service service = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	struct epoll_event event = {.events = EPOLLIN};
	int loop = epoll_create1(EPOLL_CLOEXEC);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t ticks;

	if (pipe2(service.to_helper, O_CLOEXEC) < 0 || pipe2(service.from_helper, O_CLOEXEC) < 0 ||
	    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) < 0 ||
	    timerfd_settime(timer, 0, &period, NULL) < 0)
		_exit(EXIT_FAILURE);
	start(help, &service);
	for (unsigned int number = 1;; number++) {
		if (epoll_wait(loop, &event, 1, -1) < 0 || read(timer, &ticks, sizeof(ticks)) < 0)
			continue;
		take_turn(&service, shared, number);
	}
}

/* `dwell blocked` on the service; its JSON goes to `out`. */
static pid_t start_blocked(pid_t service, int out, uint64_t run_ns)
{
	char target[WORDS], duration[WORDS];
	const char *const words[] = {"dwell",	 "blocked",	"-p",	target,		"-d",
				     duration,	 "--threshold", "10ms", "--max-stalls", "0",
				     "--format", "json",	NULL};

	snprintf(target, sizeof(target), "%d", service);
	snprintf(duration, sizeof(duration), "%lluns", (unsigned long long)run_ns);
	return await_start(words, out);
}

/* What it said. */
struct report {
	struct reported_stall stalls[TURNS_MAX];
	size_t count;
	uint64_t watched_ns; /* 0: it did not get to its end, which was at */
	uint64_t end_ns;
	uint64_t lost;
	char missing[160]; /* why it sees no turns here; empty: it does */
};

static void take_stall(struct report *report, const json_t *object)
{
	struct reported_stall *stall = &report->stalls[report->count];
	const char *cause = json_string_value(json_object_get(object, "cause"));

	if (report->count >= TURNS_MAX)
		return;
	stall->start_ns = (uint64_t)json_integer_value(json_object_get(object, "start_ns"));
	stall->duration_ns = (uint64_t)json_integer_value(json_object_get(object, "duration_ns"));
	snprintf(stall->cause, sizeof(stall->cause), "%s", cause ? cause : "");
	report->count++;
}

static void take_end(struct report *report, const json_t *object)
{
	const json_t *quality = json_object_get(object, "quality");
	const json_t *unavailable = json_object_get(quality, "unavailable");

	report->watched_ns = (uint64_t)json_integer_value(json_object_get(object, "duration_ns"));
	report->end_ns = (uint64_t)json_integer_value(json_object_get(object, "end_ns"));
	report->lost = (uint64_t)json_integer_value(json_object_get(quality, "lost"));
	for (size_t i = 0; i < json_array_size(unavailable); i++) {
		const json_t *one = json_array_get(unavailable, i);
		const char *source = json_string_value(json_object_get(one, "source"));
		const char *why = json_string_value(json_object_get(one, "why"));

		if (source && !strcmp(source, "turns") && why)
			snprintf(report->missing, sizeof(report->missing), "%s", why);
	}
}

static void read_report(struct report *report, int fd)
{
	cleanup_file FILE *file = fdopen(dup(fd), "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	if (file)
		rewind(file);
	while (file && getline(&line, &room, file) > 0) {
		json_t *object = json_loads(line, 0, NULL);
		const char *type = json_string_value(json_object_get(object, "type"));

		if (type && !strcmp(type, "stall"))
			take_stall(report, object);
		else if (type && !strcmp(type, "blocked"))
			take_end(report, object);
		json_decref(object);
	}
}

static void take_judgement(struct verification *result, struct pattern_result *pattern,
			   const struct turns_judgement *judgement, uint64_t lost)
{
	bool wrong = judgement->found < judgement->turns || judgement->wrong ||
		     judgement->right < judgement->turns;

	result->turns += judgement->turns;
	result->turns_found += judgement->found;
	result->turns_right += judgement->right;
	result->turns_false += judgement->wrong;
	pattern->threads++;
	pattern->error_percent = judgement->error_percent;
	if (!judgement->turns)
		judge_round(pattern, VERDICT_INCONCLUSIVE, false,
			    "dwell blocked saw no time of the loop");
	else if (wrong)
		judge_round(pattern, lost ? VERDICT_INCONCLUSIVE : VERDICT_FAIL, true,
			    judgement->why);
	else
		judge_round(pattern, VERDICT_PASS, false, "");
}

/* Of the time that dwell watched, by its own figures, but for the very beginning. */
static void judge(struct verification *result, struct pattern_result *pattern,
		  const struct shared *shared, const struct report *report, pid_t blocked)
{
	unsigned int count = atomic_load(&shared->count);
	struct turns_judgement judgement;

	if (!report->watched_ns)
		return judge_round(pattern, await_verdict(blocked), false,
				   "dwell blocked did not get to its end");
	if (*report->missing)
		return judge_round(pattern, VERDICT_SKIP, false, report->missing);
	turns_judge(&judgement, shared->turns, count, report->stalls, report->count,
		    report->end_ns - report->watched_ns + EDGE_NS, report->end_ns);
	take_judgement(result, pattern, &judgement, report->lost);
}

void turns_run(struct verification *result, struct pattern_result *pattern, unsigned int round)
{
	uint64_t run_ns = result->options->run_ns + 4 * EDGE_NS;
	cleanup_close int out = memfd_create("dwell-verify", MFD_CLOEXEC);
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cleanup_free struct report *report = calloc(1, sizeof(*report));
	pid_t service, blocked;

	pattern->round = round;
	if (out < 0 || shared == MAP_FAILED || !report)
		return judge_round(pattern, VERDICT_SKIP, false, strerror(ENOMEM));
	service = pattern_fork();
	if (!service)
		serve(shared);
	blocked = service > 0 ? start_blocked(service, out, run_ns) : -1;
	if (blocked < 0)
		judge_round(pattern, VERDICT_SKIP, false, strerror(errno));
	else if (!await_process(blocked, 60 * NS_PER_S))
		result->interrupted = true;
	else
		read_report(report, out);
	if (blocked > 0 && !result->interrupted)
		judge(result, pattern, shared, report, blocked);
	forked_end(blocked);
	forked_end(service);
	munmap(shared, sizeof(*shared));
}
