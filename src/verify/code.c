// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/code.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/forked.h"
#include "verify/await.h"
#include "verify/pattern.h"
#include "verify/verify.h"

#define SHORT_NS (4 * NS_PER_MS)
#define LONG_NS	 (8 * NS_PER_MS)
#define DEPTH	 40
#define WORDS	 24

/* More functions than end in a minute, which is as long as dwell has. */
#define MARKS_MAX (1 << 14)

/*
 * In memory that the processes share: what the thread has spent in each function when one of them
 * ended. On a busy machine dwell takes its time to begin, and the shares are others before.
 */
struct shared {
	atomic_uint count; /* of marks */
	struct mark {
		uint64_t at_ns; /* CLOCK_REALTIME, as dwell profile reports its beginning */
		uint64_t ns[CODE_COUNT];
	} marks[MARKS_MAX];
};

/* They are found by name also where dwell is stripped: the linker exports them (meson.build). */
#define CODE __attribute__((noinline, used, visibility("default")))

CODE void verify_code_computes(void);
CODE void verify_code_computes_more(void);
CODE void verify_code_recurses(int depth);
CODE void verify_code_sleeps(void);
CODE void verify_code_waits(int from);

/* Each is to be on the stack of what it calls. */
#define STAY __asm__ volatile("" ::: "memory")

void verify_code_computes(void)
{
	spin_cpu_ns(SHORT_NS);
	STAY;
}

void verify_code_computes_more(void)
{
	spin_cpu_ns(LONG_NS);
	STAY;
}

void verify_code_recurses(int depth)
{
	if (depth)
		verify_code_recurses(depth - 1);
	else
		spin_cpu_ns(SHORT_NS);
	STAY;
}

void verify_code_sleeps(void)
{
	sleep_ns(LONG_NS);
	STAY;
}

void verify_code_waits(int from)
{
	char byte;

	if (read(from, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	STAY;
}

/* Asked by a byte, answers some time later. */
static void *answer(void *data)
{
	const int *fds = data; /* questions, answers */
	char byte;

	while (read(fds[0], &byte, 1) == 1) {
		sleep_ns(LONG_NS);
		if (write(fds[1], "", 1) != 1)
			break;
	}
	return NULL;
}

struct code_thread {
	struct shared *shared;
	struct meter meter;
	uint64_t ns[CODE_COUNT];
	int ask, hear;
};

static uint64_t wait_in(struct code_thread *thread, enum state state)
{
	uint64_t before_ns = thread->meter.truth.states_ns[state];

	meter_begin(&thread->meter);
	if (state == STATE_SLEEP)
		verify_code_sleeps();
	else
		verify_code_waits(thread->hear);
	meter_end(&thread->meter, state);
	return thread->meter.truth.states_ns[state] - before_ns;
}

/* The function has ended, after so long. */
static void end_function(struct code_thread *thread, enum code_function function, uint64_t ns)
{
	struct shared *shared = thread->shared;
	unsigned int count = atomic_load(&shared->count);

	thread->ns[function] += ns;
	if (count == MARKS_MAX)
		return;
	shared->marks[count].at_ns = clock_realtime_ns();
	memcpy(shared->marks[count].ns, thread->ns, sizeof(thread->ns));
	atomic_store(&shared->count, count + 1);
}

static void take_turn(struct code_thread *thread)
{
	uint64_t before_ns = thread_cpu_ns();

	verify_code_computes();
	end_function(thread, CODE_verify_code_computes, thread_cpu_ns() - before_ns);
	before_ns = thread_cpu_ns();
	verify_code_computes_more();
	end_function(thread, CODE_verify_code_computes_more, thread_cpu_ns() - before_ns);
	before_ns = thread_cpu_ns();
	verify_code_recurses(DEPTH);
	end_function(thread, CODE_verify_code_recurses, thread_cpu_ns() - before_ns);
	end_function(thread, CODE_verify_code_sleeps, wait_in(thread, STATE_SLEEP));
	if (write(thread->ask, "", 1) != 1)
		_exit(EXIT_FAILURE);
	end_function(thread, CODE_verify_code_waits, wait_in(thread, STATE_IPC));
}

static _Noreturn void serve(struct shared *shared)
{
	struct code_thread thread = {.shared = shared};
	int questions[2], answers[2], helper[2];

	if (pipe2(questions, O_CLOEXEC) < 0 || pipe2(answers, O_CLOEXEC) < 0)
		_exit(EXIT_FAILURE);
	helper[0] = questions[0];
	helper[1] = answers[1];
	thread.ask = questions[1];
	thread.hear = answers[0];
	start(answer, helper);
	meter_start(&thread.meter, CODE_NAME, "functions");
	for (;;)
		take_turn(&thread);
}

/* Of what ended from the one time to the other; zeros: nothing, or it is not known. */
static struct code_shares truth_of(const struct shared *shared, uint64_t from_ns, uint64_t to_ns)
{
	struct code_shares truth = {.all_ns = 0};
	const struct mark *first = NULL, *last = NULL;
	unsigned int count = atomic_load(&shared->count);

	for (unsigned int i = 0; i < count && count < MARKS_MAX; i++) {
		if (shared->marks[i].at_ns < from_ns || shared->marks[i].at_ns > to_ns)
			continue;
		last = &shared->marks[i];
		first = first ? first : last;
	}
	for (int i = 0; first && i < CODE_COUNT; i++) {
		truth.ns[i] = (double)(last->ns[i] - first->ns[i]);
		truth.all_ns += truth.ns[i];
	}
	return truth;
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* As in CODE_FUNCTIONS; NULL: of none. */
static const char *state_group(const json_t *object)
{
	const char *state = json_string_value(json_object_get(object, "state"));

	if (!state || !strcmp(state, "sleep") || !strcmp(state, "ipc"))
		return state;
	return !strcmp(state, "user") || !strcmp(state, "kernel") ? "cpu" : NULL;
}

static void take_function(struct code_shares *seen, const json_t *row)
{
	static const struct {
		const char *name, *state;
	} functions[CODE_COUNT] = {
#define X(name, state) {#name, state},
		CODE_FUNCTIONS(X)
#undef X
	};
	const char *name = json_string_value(json_object_get(row, "function"));
	const char *state = state_group(row);

	for (int i = 0; name && state && i < CODE_COUNT; i++) {
		double error = number_of(row, "total_error_ns");

		if (strcmp(functions[i].name, name) || strcmp(functions[i].state, state))
			continue;
		seen->ns[i] += number_of(row, "total_ns");
		seen->error_ns[i] += error; /* at most so much */
	}
}

/* "2026-11-25T17:31:02.123456789Z"; 0: it is no time. */
static uint64_t read_time(const char *text)
{
	struct tm fields = {0};
	const char *fraction = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &fields) : NULL;

	return fraction && *fraction == '.'
		       ? (uint64_t)timegm(&fields) * NS_PER_S + strtoull(fraction + 1, NULL, 10)
		       : 0;
}

/* From when to when it was, CLOCK_REALTIME. False: it did not get to its end. */
static bool read_profile(struct code_shares *seen, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
			 int fd)
{
	cleanup_file FILE *file = fdopen(dup(fd), "re");
	json_t *object, *row;
	const char *type;
	bool is_whole;
	size_t i;

	*seen = (struct code_shares){.lost = 0};
	if (!file)
		return false;
	rewind(file);
	object = json_loadf(file, 0, NULL);
	type = json_string_value(json_object_get(object, "type"));
	is_whole = type && !strcmp(type, "profile");
	*ret_from_ns = read_time(json_string_value(json_object_get(object, "start")));
	*ret_to_ns = *ret_from_ns + (uint64_t)number_of(object, "duration_ns");
	json_array_foreach(json_object_get(object, "states"), i, row) if (state_group(row))
		seen->all_ns += number_of(row, "total_ns");
	json_array_foreach(json_object_get(object, "functions"), i, row) take_function(seen, row);
	seen->lost = (uint64_t)number_of(json_object_get(object, "quality"), "lost");
	json_decref(object);
	return is_whole;
}

static void judge(struct verification *result, struct pattern_result *pattern,
		  const struct code_shares *truth, const struct code_shares *seen)
{
	struct code_judgement judgement;

	if (truth->all_ns <= 0 || seen->all_ns <= 0)
		return judge_round(pattern, VERDICT_INCONCLUSIVE, false,
				   "dwell profile saw no turn of the functions");
	code_judge(&judgement, truth, seen);
	pattern->threads++;
	result->shares += judgement.shares;
	result->shares_right += judgement.right;
	if (result->share_error_points < judgement.error_points)
		result->share_error_points = judgement.error_points;
	if (judgement.right == judgement.shares) {
		judge_round(pattern, VERDICT_PASS, false, "");
		return;
	}
	judge_round(pattern, seen->lost ? VERDICT_INCONCLUSIVE : VERDICT_FAIL, true, judgement.why);
}

/* `dwell profile` on the thread; its JSON goes to `out`. */
static pid_t start_profile(pid_t service, int out, uint64_t run_ns)
{
	char target[WORDS], duration[WORDS];
	const char *const words[] = {"dwell",  "profile", "-t",	 target,   "-d",
				     duration, "--freq",  "499", "--json", NULL};

	snprintf(target, sizeof(target), "%d", service);
	snprintf(duration, sizeof(duration), "%lluns", (unsigned long long)run_ns);
	return await_start(words, out);
}

void code_run(struct verification *result, struct pattern_result *pattern, unsigned int round)
{
	cleanup_close int out = memfd_create("dwell-verify", MFD_CLOEXEC);
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t from_ns, to_ns;
	struct code_shares seen, truth;
	pid_t service, profile = -1;

	pattern->round = round;
	if (out < 0 || shared == MAP_FAILED)
		return judge_round(pattern, VERDICT_SKIP, false, strerror(ENOMEM));
	service = pattern_fork();
	if (!service)
		serve(shared);
	if (service > 0)
		profile = start_profile(service, out, 2 * result->options->run_ns);
	if (profile < 0) {
		judge_round(pattern, VERDICT_SKIP, false, strerror(errno));
	} else if (!await_process(profile, 60 * NS_PER_S)) {
		result->interrupted = true;
	} else if (!read_profile(&seen, &from_ns, &to_ns, out)) {
		judge_round(pattern, await_verdict(profile), false,
			    "dwell profile did not get to its end");
	} else {
		truth = truth_of(shared, from_ns, to_ns);
		judge(result, pattern, &truth, &seen);
	}
	forked_end(profile);
	forked_end(service);
	munmap(shared, sizeof(*shared));
}
