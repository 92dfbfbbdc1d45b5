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
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "verify/await.h"
#include "base/forked.h"
#include "verify/pattern.h"
#include "verify/verify.h"

#define SHORT_NS (4 * NS_PER_MS)
#define LONG_NS	 (8 * NS_PER_MS)
#define DEPTH	 40
#define WORDS	 24

/* In memory that the processes share. */
struct shared {
	atomic_uint turns; /* changes while `ns` is written: odd then */
	uint64_t ns[CODE_COUNT];
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

static void take_turn(struct code_thread *thread)
{
	uint64_t at_ns[4] = {thread_cpu_ns()};

	verify_code_computes();
	at_ns[1] = thread_cpu_ns();
	verify_code_computes_more();
	at_ns[2] = thread_cpu_ns();
	verify_code_recurses(DEPTH);
	at_ns[3] = thread_cpu_ns();
	for (int i = 0; i < 3; i++)
		thread->ns[CODE_verify_code_computes + i] += at_ns[i + 1] - at_ns[i];
	thread->ns[CODE_verify_code_sleeps] += wait_in(thread, STATE_SLEEP);
	if (write(thread->ask, "", 1) != 1)
		_exit(EXIT_FAILURE);
	thread->ns[CODE_verify_code_waits] += wait_in(thread, STATE_IPC);
}

static _Noreturn void serve(struct shared *shared)
{
	struct code_thread thread = {.ns = {0}};
	int questions[2], answers[2], helper[2];

	if (pipe2(questions, O_CLOEXEC) < 0 || pipe2(answers, O_CLOEXEC) < 0)
		_exit(EXIT_FAILURE);
	helper[0] = questions[0];
	helper[1] = answers[1];
	thread.ask = questions[1];
	thread.hear = answers[0];
	start(answer, helper);
	meter_start(&thread.meter, CODE_NAME, "functions");
	for (;;) {
		take_turn(&thread);
		atomic_fetch_add(&shared->turns, 1);
		memcpy(shared->ns, thread.ns, sizeof(thread.ns));
		atomic_fetch_add(&shared->turns, 1);
	}
}

static void copy_truth(const struct shared *shared, uint64_t into[CODE_COUNT])
{
	unsigned int turns;

	do {
		turns = atomic_load(&shared->turns);
		memcpy(into, shared->ns, sizeof(shared->ns));
	} while (turns & 1 || turns != atomic_load(&shared->turns));
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

/* False: it did not get to its end. */
static bool read_profile(struct code_shares *seen, int fd)
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
	json_array_foreach(json_object_get(object, "states"), i, row) if (state_group(row))
		seen->all_ns += number_of(row, "total_ns");
	json_array_foreach(json_object_get(object, "functions"), i, row) take_function(seen, row);
	seen->lost = (uint64_t)number_of(json_object_get(object, "quality"), "lost");
	json_decref(object);
	return is_whole;
}

static void judge(struct verification *result, struct pattern_result *pattern,
		  const uint64_t before[CODE_COUNT], const uint64_t after[CODE_COUNT],
		  const struct code_shares *seen)
{
	struct code_shares truth = {.all_ns = 0};
	struct code_judgement judgement;

	for (int i = 0; i < CODE_COUNT; i++) {
		truth.ns[i] = (double)(after[i] - before[i]);
		truth.all_ns += truth.ns[i];
	}
	if (truth.all_ns <= 0 || seen->all_ns <= 0)
		return judge_conclude(pattern, VERDICT_INCONCLUSIVE,
				      "dwell profile saw no turn of the functions");
	code_judge(&judgement, &truth, seen);
	pattern->threads++;
	result->shares += judgement.shares;
	result->shares_right += judgement.right;
	if (result->share_error_points < judgement.error_points)
		result->share_error_points = judgement.error_points;
	if (judgement.right == judgement.shares) {
		if (pattern->verdict != VERDICT_FAIL)
			judge_conclude(pattern, VERDICT_PASS, "");
		return;
	}
	pattern->wrong_rounds += pattern->wrong_round != pattern->round;
	pattern->wrong_round = pattern->round;
	judge_conclude(pattern, seen->lost ? VERDICT_INCONCLUSIVE : VERDICT_FAIL, judgement.why);
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
	uint64_t before[CODE_COUNT], after[CODE_COUNT];
	struct code_shares seen;
	pid_t service, profile = -1;

	pattern->round = round;
	if (out < 0 || shared == MAP_FAILED)
		return judge_conclude(pattern, VERDICT_SKIP, strerror(ENOMEM));
	service = pattern_fork();
	if (!service)
		serve(shared);
	if (service > 0) {
		copy_truth(shared, before);
		profile = start_profile(service, out, 2 * result->options->run_ns);
	}
	if (profile < 0) {
		judge_conclude(pattern, VERDICT_SKIP, strerror(errno));
	} else if (!await_process(profile, 60 * NS_PER_S)) {
		result->interrupted = true;
	} else if (copy_truth(shared, after), !read_profile(&seen, out)) {
		judge_conclude(pattern, VERDICT_SKIP, "dwell profile did not get to its end");
	} else {
		judge(result, pattern, before, after, &seen);
	}
	forked_end(profile);
	forked_end(service);
	munmap(shared, sizeof(*shared));
}
