// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/loop.h"
#include "base/similar.h"
#include "session/observer.h"
#include "verify/batch.h"

#define PATTERNS_MAX 64

/* More rounds for those that the machine left open so far, or that were wrong. */
#define EXTRA_ROUNDS 2

/* Of a batch: patterns end by themselves, but on a machine that runs nothing. */
#define TIMEOUT_NS (120 * NS_PER_S)

struct run {
	struct verification *result;
	unsigned int round; /* from 0 */
	int file;	    /* for patterns about disks; -1: none */
	char path[32];	    /* of it; empty: there is none, for `file_error` */
	int file_error;
};

void verify_each(void (*take)(void *data, const char *name, const char *help, enum state state),
		 void *data)
{
	for (const struct call *const *table = call_tables; *table; table++)
		for (const struct call *call = *table; call->name; call++)
			take(data, call->name, NULL, call->state);
	for (const struct pattern *const *table = pattern_tables; *table; table++)
		for (const struct pattern *pattern = *table; pattern->name; pattern++)
			take(data, pattern->name, pattern->help, STATES);
}

/* Whether a list of names or glob patterns, separated by commas, has it; NULL has all. */
static bool list_has(const char *list, const char *name)
{
	char one[128];

	for (size_t length; list && *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		snprintf(one, sizeof(one), "%.*s", (int)length, list);
		if (!fnmatch(one, name, 0))
			return true;
	}
	return !list;
}

static struct pattern_result *find(struct verification *result, const char *name)
{
	for (size_t i = 0; i < result->count; i++)
		if (!strcmp(result->patterns[i].name, name))
			return &result->patterns[i];
	return NULL;
}

/* Asked for, and, after the rounds asked for, not sure yet. */
static bool is_wanted(const void *data, const char *name)
{
	const struct run *run = data;
	const struct pattern_result *pattern = find(run->result, name);

	return pattern &&
	       (run->round < run->result->options->rounds ||
		pattern->verdict == VERDICT_INCONCLUSIVE || pattern->verdict == VERDICT_FAIL);
}

struct listing {
	struct verification *result;
	struct similar similar;
	bool no_memory;
};

static void list_one(void *data, const char *name, const char *help, enum state state)
{
	struct listing *listing = data;
	struct verification *result = listing->result;
	struct pattern_result *more;

	if (listing->similar.wanted)
		similar_try(&listing->similar, name);
	if (!list_has(result->options->patterns, name))
		return;
	more = reallocarray(result->patterns, result->count + 1, sizeof(*more));
	if (!more) {
		listing->no_memory = true;
		return;
	}
	result->patterns = more;
	more[result->count++] = (struct pattern_result){
		.name = name, .help = help, .state = state, .worst = STATES};
}

static int list_patterns(struct verification *result, struct error *error)
{
	const char *asked = result->options->patterns;
	struct listing listing = {.result = result, .similar = {.wanted = asked}};

	verify_each(list_one, &listing);
	if (listing.no_memory)
		return error_set(error, ENOMEM, "out of memory");
	if (!result->count)
		return similar_error(error, EINVAL, &listing.similar, "; `--list` shows them all",
				     "no pattern is called '%s'", asked);
	return 0;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int add_error(struct state_result *state, double error, const char *pattern)
{
	if (array_reserve(&state->errors, &state->room, state->count + 1, sizeof(*state->errors)) <
	    0)
		return -ENOMEM;
	if (!state->worst_pattern || error >= state->worst) {
		state->worst = error;
		state->worst_pattern = pattern;
	}
	state->errors[state->count++] = error;
	return 0;
}

static int add_errors(struct verification *result, const struct pattern_result *pattern,
		      const struct thread_judgement *judgement)
{
	int code = 0;

	for (enum state state = 0; code >= 0 && state < STATES; state++) {
		if (isnan(judgement->errors[state]))
			continue;
		code = add_error(&result->states[state], fabs(judgement->errors[state]),
				 pattern->name);
		if (code >= 0)
			code = add_error(&result->all, fabs(judgement->errors[state]),
					 pattern->name);
	}
	return code;
}

/* A thread that lived briefly: its edges are a large part of it. */
#define BRIEF_NS (50 * NS_PER_MS)

/* Adds up the brief threads of one name. Returns whether there is another one before it. */
static bool merge_brief(const struct batch_truths *truths, size_t count, size_t first,
			const struct observer *observer, struct truth *sum, struct row *row)
{
	for (size_t i = 0; i < count; i++) {
		const struct truth *truth = &truths->items[i];
		const struct row *seen = observer_find(observer, truth->tid);

		if (strcmp(truth->thread, sum->thread) || *truth->skipped || i == first)
			continue;
		if (i < first)
			return true;
		if (!seen)
			continue;
		sum->wall_ns += truth->wall_ns;
		sum->cpu_ns += truth->cpu_ns;
		sum->uncertain_ns += truth->uncertain_ns;
		row->observed_ns += seen->observed_ns;
		for (int s = 0; s < STATES; s++) {
			sum->states_ns[s] += truth->states_ns[s];
			row->states_ns[s] += seen->states_ns[s];
		}
	}
	return false;
}

static int judge_one(struct run *run, const struct batch_truths *truths, size_t count, size_t index,
		     const struct observer *observer)
{
	struct verification *result = run->result;
	struct truth truth = truths->items[index];
	struct pattern_result *pattern = find(result, truth.pattern);
	const struct row *seen = observer_find(observer, truth.tid);
	struct thread_judgement judgement;
	struct row sum;

	if (!pattern)
		return 0;
	if (*truth.skipped) {
		if (!*pattern->why)
			snprintf(pattern->why, sizeof(pattern->why), "%s", truth.skipped);
		return 0;
	}
	if (truth.state != STATES)
		pattern->state = truth.state;
	pattern->round = run->round + 1;
	result->threads++;
	result->unseen += !seen;
	if (seen && truth.wall_ns < BRIEF_NS) {
		sum = *seen;
		if (merge_brief(truths, count, index, observer, &truth, &sum))
			return 0;
		seen = &sum;
	}
	if (!judge_add(pattern, &truth, seen, observer_interval(observer),
		       result->options->limit_percent, &judgement))
		return 0;
	return add_errors(result, pattern, &judgement);
}

static int judge_batch(struct run *run, const struct batch *batch, const struct observer *observer)
{
	struct verification *result = run->result;
	const struct interval *interval = observer_interval(observer);
	size_t count = atomic_load(&batch->truths->count);
	int code = 0;

	if (!interval)
		return 0;
	count = count < BATCH_TRUTHS ? count : BATCH_TRUTHS;
	for (size_t i = 0; code >= 0 && i < count; i++)
		code = judge_one(run, batch->truths, count, i, observer);
	for (size_t i = 0; i < interval->row_count; i++)
		result->wakeups += interval->rows[i].woken;
	result->lost += losses_all(&interval->losses);
	result->self_cpu_ns += interval->self_cpu_ns;
	result->observed_ns += interval->end_ns - interval->start_ns;
	result->machine_stolen_ns += interval->machine_stolen_ns;
	result->machine_busy_ns += interval->machine_busy_ns;
	return code;
}

/* What the loop of a batch is about. */
struct watching {
	struct run *run;
	struct observer *observer;
	struct loop loop;
};

static int on_work(void *data, struct error *error)
{
	struct watching *watching = data;

	return observer_work(watching->observer, error);
}

static int on_end(void *data, struct error *error)
{
	struct watching *watching = data;

	(void)error;
	watching->loop.stop = true;
	return 0;
}

static int on_signal(void *data, struct error *error)
{
	struct watching *watching = data;

	watching->run->result->interrupted = true;
	return on_end(data, error);
}

static int watch_batch(struct watching *watching, struct batch *batch, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	int fds[SOURCE_DESCRIPTORS], count = observer_descriptors(watching->observer, fds);
	int result = loop_init(&watching->loop, error);

	for (int i = 0; result >= 0 && i < count; i++)
		result = loop_add(&watching->loop, fds[i], on_work, watching, error);
	if (result >= 0)
		result = loop_add(&watching->loop, batch->pidfd, on_end, watching, error);
	if (result >= 0)
		result = loop_add_timer(&watching->loop, 0, TIMEOUT_NS, on_end, watching, error);
	if (result >= 0)
		result = loop_add_signals(&watching->loop, signals, ARRAY_SIZE(signals), on_signal,
					  watching, error);
	if (result >= 0)
		result = observer_begin(watching->observer, error);
	if (result >= 0) {
		batch_start(batch);
		result = loop_run(&watching->loop, error);
	}
	loop_release(&watching->loop);
	return result;
}

static int run_batch(struct run *run, struct batch *batch, const char *what, struct error *error)
{
	const struct verify_options *options = run->result->options;
	struct watching watching = {.run = run, .loop.epoll_fd = -1};
	int result;

	if (run->result->interrupted)
		return 0;
	if (options->progress)
		options->progress(options->data, run->round, what);
	batch->path = *run->path ? run->path : NULL;
	batch->file_error = run->file_error;
	batch->directory = options->directory;
	result = batch_prepare(batch, error);
	if (result >= 0)
		result = observer_open(&watching.observer, (uint32_t)batch->pid, error);
	if (result >= 0)
		result = watch_batch(&watching, batch, error);
	if (result >= 0)
		result = observer_end(watching.observer, error);
	if (result >= 0 && !run->result->interrupted &&
	    judge_batch(run, batch, watching.observer) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	observer_close(watching.observer);
	batch_release(batch);
	return result;
}

static bool any_call(const struct run *run)
{
	for (const struct call *const *table = call_tables; *table; table++)
		for (const struct call *call = *table; call->name; call++)
			if (is_wanted(run, call->name))
				return true;
	return false;
}

/* Calls, then what may run beside others, then the rest, one after the other. */
static int run_round(struct run *run, struct error *error)
{
	const struct pattern *beside[PATTERNS_MAX];
	struct batch calls = {.wanted_call = is_wanted, .data = run};
	struct batch together = {.patterns = beside};
	int result = any_call(run) ? run_batch(run, &calls, "calls", error) : 0;

	for (const struct pattern *const *table = pattern_tables; *table; table++)
		for (const struct pattern *pattern = *table; pattern->name; pattern++)
			if (pattern->company == PATTERN_BESIDE && is_wanted(run, pattern->name) &&
			    together.count < PATTERNS_MAX)
				beside[together.count++] = pattern;
	if (result >= 0 && together.count)
		result = run_batch(run, &together, "pairs", error);
	for (const struct pattern *const *table = pattern_tables; *table; table++) {
		for (const struct pattern *pattern = *table; result >= 0 && pattern->name;
		     pattern++) {
			struct batch alone = {.patterns = &pattern, .count = 1};

			if (pattern->company == PATTERN_ALONE && is_wanted(run, pattern->name))
				result = run_batch(run, &alone, pattern->name, error);
		}
	}
	return result;
}

static bool needs_file(const struct verification *result)
{
	for (const struct pattern *const *table = pattern_tables; *table; table++)
		for (const struct pattern *pattern = *table; pattern->name; pattern++)
			if (pattern->needs_file &&
			    list_has(result->options->patterns, pattern->name))
				return true;
	return false;
}

static int fill_file(int fd)
{
	static char block[1 << 20];

	memset(block, 7, sizeof(block));
	for (size_t done = 0; done < PATTERN_FILE_BYTES; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return -1;
	return fsync(fd);
}

/*
 * Before anything is measured. It has no name, so that it ends with its last process. Without it
 * the patterns that need one say why they have none.
 */
static void make_file(struct run *run)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dwell-verify-XXXXXX", run->result->options->directory);
	run->file = mkostemp(path, O_CLOEXEC);
	if (run->file >= 0)
		unlink(path);
	if (run->file >= 0 && fill_file(run->file) >= 0)
		snprintf(run->path, sizeof(run->path), "/proc/self/fd/%d", run->file);
	else
		run->file_error = errno;
}

static double rank(const struct state_result *state, double quantile)
{
	size_t index = (size_t)ceil(quantile * (double)state->count);

	return state->count ? state->errors[index ? index - 1 : 0] : NAN;
}

static void sum_up_state(struct state_result *state)
{
	if (state->count)
		qsort(state->errors, state->count, sizeof(*state->errors), compare_doubles);
	state->p50 = rank(state, 0.5);
	state->p99 = rank(state, 0.99);
	state->worst = rank(state, 1);
}

/* Some hosts hide a process of theirs from tracing; that costs less. */
#define SHARE_LOST 0.1
#define LOST_LEAST 50

bool verify_misses_much(const struct verification *result)
{
	return result->unseen > result->lost ||
	       (double)result->unseen > SHARE_LOST * (double)result->threads ||
	       (result->lost > LOST_LEAST &&
		(double)result->lost > SHARE_LOST * (double)(result->wakeups + result->lost));
}

static void sum_up(struct verification *result, unsigned int rounds)
{
	for (int s = 0; s < STATES; s++)
		sum_up_state(&result->states[s]);
	sum_up_state(&result->all);
	for (size_t i = 0; i < result->count; i++) {
		struct pattern_result *pattern = &result->patterns[i];

		judge_end(pattern, rounds);
		result->passed += pattern->verdict == VERDICT_PASS;
		result->failed += pattern->verdict == VERDICT_FAIL;
		result->inconclusive += pattern->verdict == VERDICT_INCONCLUSIVE;
		result->skipped += pattern->verdict == VERDICT_SKIP;
		result->wrong_states += pattern->wrong_state;
		result->unrecognized += pattern->unknown_percent > result->options->limit_percent;
		result->reasons += pattern->reason_judged;
		result->reasons_right += pattern->reason_judged && !pattern->reason_wrong;
	}
	result->verdict = VERDICT_PASS;
	if (result->inconclusive || result->interrupted || !result->passed)
		result->verdict = VERDICT_INCONCLUSIVE;
	if (result->failed || verify_misses_much(result))
		result->verdict = VERDICT_FAIL;
}

int verify_run(struct verification *result, const struct verify_options *options,
	       struct error *error)
{
	uint64_t start_ns = clock_monotonic_ns();
	struct run run = {.result = result, .file = -1};
	int code;

	*result = (struct verification){.options = options};
	pattern_run_ns = options->run_ns;
	code = list_patterns(result, error);
	if (code >= 0 && needs_file(result))
		make_file(&run);
	for (; code >= 0 && !result->interrupted && run.round < options->rounds + EXTRA_ROUNDS;
	     run.round++)
		code = run_round(&run, error);
	if (run.file >= 0)
		close(run.file);
	result->duration_ns = clock_monotonic_ns() - start_ns;
	sum_up(result, run.round);
	return code;
}

void verify_release(struct verification *result)
{
	for (int s = 0; s < STATES; s++)
		free(result->states[s].errors);
	free(result->all.errors);
	free(result->patterns);
}
