// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/tally.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/similar.h"
#include "verify/code.h"
#include "verify/flood.h"
#include "verify/turns.h"

void verify_each(void (*take)(void *data, const char *name, const char *help, enum state state),
		 void *data)
{
	for (const struct call *const *table = call_tables; *table; table++)
		for (const struct call *call = *table; call->name; call++)
			take(data, call->name, NULL, call->state);
	for (const struct pattern *const *table = pattern_tables; *table; table++)
		for (const struct pattern *pattern = *table; pattern->name; pattern++)
			take(data, pattern->name, pattern->help, STATES);
	take(data, TURNS_NAME, TURNS_HELP, STATES);
	take(data, CODE_NAME, CODE_HELP, STATES);
	take(data, FLOOD_NAME, FLOOD_HELP, STATES);
}

#define PATTERN_NAME_BYTES 128

/* Whether a list of names or glob patterns, separated by commas, has it; NULL has all. */
static bool list_has(const char *list, const char *name)
{
	char one[PATTERN_NAME_BYTES];

	for (size_t length; list && *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		snprintf(one, sizeof(one), "%.*s", (int)length, list);
		if (!fnmatch(one, name, 0))
			return true;
	}
	return !list;
}

struct pattern_result *tally_find(struct verification *result, const char *name)
{
	for (size_t i = 0; i < result->count; i++)
		if (!strcmp(result->patterns[i].name, name))
			return &result->patterns[i];
	return NULL;
}

struct listing {
	struct verification *result;
	bool no_memory;
};

static void list_one(void *data, const char *name, const char *help, enum state state)
{
	struct listing *listing = data;
	struct verification *result = listing->result;
	struct pattern_result *more;

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

struct lookup {
	struct similar similar;
	bool found;
};

static void look_up(void *data, const char *name, const char *help, enum state state)
{
	struct lookup *lookup = data;

	(void)help;
	(void)state;
	similar_try(&lookup->similar, name);
	lookup->found |= !fnmatch(lookup->similar.wanted, name, 0);
}

/* One that is called otherwise by now would be left out, and the others pass. */
static int check_list(const char *list, struct error *error)
{
	for (size_t length;; list += length + 1) {
		char one[PATTERN_NAME_BYTES];
		struct lookup lookup = {.similar = {.wanted = one}};

		length = strcspn(list, ",");
		snprintf(one, sizeof(one), "%.*s", (int)length, list);
		verify_each(look_up, &lookup);
		if (!lookup.found)
			return similar_error(error, EINVAL, &lookup.similar,
					     "; `--list` shows them all",
					     "no pattern is called '%s'", one);
		if (!list[length])
			return 0;
	}
}

int tally_begin(struct verification *result, const struct verify_options *options,
		struct error *error)
{
	const char *asked = options->patterns;
	struct listing listing = {.result = result};

	*result = (struct verification){.options = options};
	verify_each(list_one, &listing);
	if (listing.no_memory)
		return error_set(error, ENOMEM, "out of memory");
	return asked ? check_list(asked, error) : 0;
}

static int add_errors(struct verification *result, const struct pattern_result *pattern,
		      const struct thread_judgement *judgement)
{
	int code = 0;

	for (enum state state = 0; code >= 0 && state < STATES; state++) {
		if (isnan(judgement->errors[state]))
			continue;
		code = ranks_add(&result->states[state].errors, judgement->errors[state],
				 pattern->name);
		if (code >= 0)
			code = ranks_add(&result->all, judgement->errors[state], pattern->name);
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
		row->woken += seen->woken;
		for (int s = 0; s < STATES; s++) {
			sum->states_ns[s] += truth->states_ns[s];
			row->states_ns[s] += seen->states_ns[s];
		}
	}
	return false;
}

static int judge_one(struct verification *result, unsigned int round,
		     const struct batch_truths *truths, size_t count, size_t index)
{
	const struct observer *observer = result->observer;
	struct truth truth = truths->items[index];
	struct pattern_result *pattern = tally_find(result, truth.pattern);
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
	pattern->round = round;
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
	if (result->measuring && truths->items[index].wall_ns >= BRIEF_NS &&
	    peers_add(result->measuring, pattern->name, &truth, seen, observer_interval(observer)) <
		    0)
		return -ENOMEM;
	return add_errors(result, pattern, &judgement);
}

int tally_batch(struct verification *result, unsigned int round, const struct batch_truths *truths)
{
	const struct interval *interval = observer_interval(result->observer);
	size_t count = atomic_load(&truths->count);
	int code = 0;

	if (!interval)
		return 0;
	count = count < BATCH_TRUTHS ? count : BATCH_TRUTHS;
	for (size_t i = 0; code >= 0 && i < count; i++)
		code = judge_one(result, round, truths, count, i);
	for (size_t i = 0; i < interval->row_count; i++)
		result->wakeups += interval->rows[i].woken;
	result->lost += losses_all(&interval->losses);
	result->self_cpu_ns += interval->self_cpu_ns;
	result->observed_ns += interval->end_ns - interval->start_ns;
	result->machine_stolen_ns += interval->machine_stolen_ns;
	result->machine_busy_ns += interval->machine_busy_ns;
	return code;
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

/* Of QEMU's emulation, which has no steal clock; x86 names it, elsewhere it is not known. */
static bool host_hides_what_it_takes(void)
{
	cleanup_file FILE *file = fopen("/proc/cpuinfo", "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "model name", 10))
			return strstr(line, "QEMU TCG");
	return false;
}

void tally_end(struct verification *result, unsigned int rounds)
{
	bool hides = host_hides_what_it_takes();

	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];

		ranks_end(&result->states[state].errors);
		result->states[state].state = state;
		if (verify_compares(state))
			result->compared[result->compared_count++] = result->states[state];
	}
	ranks_end(&result->all);
	for (size_t i = 0; i < result->count; i++) {
		struct pattern_result *pattern = &result->patterns[i];

		if (result->interrupted && pattern->verdict == VERDICT_SKIP && !*pattern->why) {
			pattern->verdict = VERDICT_INCONCLUSIVE;
			snprintf(pattern->why, sizeof(pattern->why), "interrupted");
		}
		judge_end(pattern, rounds, hides);
		result->passed += pattern->verdict == VERDICT_PASS;
		result->failed += pattern->verdict == VERDICT_FAIL;
		result->inconclusive += pattern->verdict == VERDICT_INCONCLUSIVE;
		result->skipped += pattern->verdict == VERDICT_SKIP;
		result->wrong_states += pattern->wrong_state;
		result->unrecognized += pattern->unknown_percent > result->options->limit_percent;
		result->reasons += pattern->reason_judged;
		result->reasons_right += pattern->reason_judged && !pattern->reason_wrong;
		result->culprits += pattern->blame_judged;
		result->culprits_right += pattern->blame_judged && !pattern->blame_wrong;
		result->latencies += pattern->latency_judged;
		result->latencies_right += pattern->latency_judged && !pattern->latency_wrong;
		result->latency_error_percent =
			fmax(result->latency_error_percent, pattern->latency_error_percent);
	}
	result->verdict = VERDICT_PASS;
	if (result->inconclusive || result->interrupted || result->timed_out || !result->passed)
		result->verdict = VERDICT_INCONCLUSIVE;
	if (result->failed || verify_misses_much(result))
		result->verdict = VERDICT_FAIL;
}

void verify_release(struct verification *result)
{
	for (int s = 0; s < STATES; s++)
		ranks_release(&result->states[s].errors);
	ranks_release(&result->all);
	for (size_t i = 0; i < result->peer_count; i++)
		peer_result_release(&result->peers[i]);
	peers_close(result->measuring);
	free(result->patterns);
}
