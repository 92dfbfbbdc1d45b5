// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/loop.h"
#include "session/observer.h"
#include "verify/batch.h"
#include "verify/code.h"
#include "verify/flood.h"
#include "verify/tally.h"
#include "verify/turns.h"

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

/* Asked for, and, after the rounds asked for, not sure yet. */
static bool is_wanted(const void *data, const char *name)
{
	const struct run *run = data;
	const struct pattern_result *pattern = tally_find(run->result, name);

	return pattern &&
	       (run->round < run->result->options->rounds ||
		pattern->verdict == VERDICT_INCONCLUSIVE || pattern->verdict == VERDICT_FAIL);
}

/* What the loop of a batch is about. */
struct watching {
	struct run *run;
	struct loop loop;
};

static int on_work(void *data, struct error *error)
{
	struct watching *watching = data;

	return observer_work(watching->run->result->observer, error);
}

static int on_end(void *data, struct error *error)
{
	struct watching *watching = data;

	(void)error;
	watching->loop.stop = true;
	return 0;
}

static int on_timeout(void *data, struct error *error)
{
	struct watching *watching = data;

	watching->run->result->timed_out = true;
	return on_end(data, error);
}

static int on_signal(void *data, struct error *error)
{
	struct watching *watching = data;

	watching->run->result->interrupted = true;
	return on_end(data, error);
}

/* How often counters are read, which only grow. */
#define COUNTERS_NS (100 * NS_PER_MS)

static int on_counters(void *data, struct error *error)
{
	struct watching *watching = data;

	return peers_read(watching->run->result->measuring, error);
}

static int watch_batch(struct watching *watching, struct batch *batch, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct observer *observer = watching->run->result->observer;
	int fds[SOURCE_DESCRIPTORS], count = observer_descriptors(observer, fds);
	int result = loop_init(&watching->loop, error);

	for (int i = 0; result >= 0 && i < count; i++)
		result = loop_add(&watching->loop, fds[i], on_work, watching, error);
	if (result >= 0)
		result = loop_add(&watching->loop, batch->pidfd, on_end, watching, error);
	if (result >= 0)
		result =
			loop_add_timer(&watching->loop, 0, TIMEOUT_NS, on_timeout, watching, error);
	if (result >= 0 && watching->run->result->measuring)
		result = loop_add_timer(&watching->loop, 0, COUNTERS_NS, on_counters, watching,
					error);
	if (result >= 0)
		result = loop_add_signals(&watching->loop, signals, ARRAY_SIZE(signals), on_signal,
					  watching, error);
	if (result >= 0)
		result = observer_begin(observer, error);
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
	options->progress(options->data, run->round, what);
	batch->path = *run->path ? run->path : NULL;
	batch->file_error = run->file_error;
	batch->directory = options->directory;
	result = batch_prepare(batch, error);
	if (result >= 0 && run->result->measuring)
		result = peers_begin(run->result->measuring, batch->pid, error);
	if (result >= 0)
		result = watch_batch(&watching, batch, error);
	if (result >= 0)
		result = observer_end(run->result->observer, error);
	if (result >= 0 && run->result->measuring)
		result = peers_end(run->result->measuring, error);
	if (result >= 0 && !run->result->interrupted &&
	    tally_batch(run->result, run->round + 1, batch->truths) < 0)
		result = error_set(error, ENOMEM, "out of memory");
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

/* What judges itself. */
static const struct {
	const char *name;
	void (*run)(struct verification *result, struct pattern_result *pattern,
		    unsigned int round);
} specials[] = {{TURNS_NAME, turns_run}, {CODE_NAME, code_run}, {FLOOD_NAME, flood_run}};

static void run_specials(struct run *run)
{
	const struct verify_options *options = run->result->options;

	for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
		const char *name = specials[i].name;

		if (run->result->interrupted || !is_wanted(run, name))
			continue;
		options->progress(options->data, run->round, name);
		specials[i].run(run->result, tally_find(run->result, name), run->round + 1);
	}
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
	if (result >= 0)
		run_specials(run);
	return result;
}

static bool needs_file(struct verification *result)
{
	for (const struct pattern *const *table = pattern_tables; *table; table++)
		for (const struct pattern *pattern = *table; pattern->name; pattern++)
			if (pattern->needs_file && tally_find(result, pattern->name))
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

/* Before anything is measured. Without it the patterns that need one say why they have none. */
static void make_file(struct run *run)
{
	run->file = file_unnamed(AT_FDCWD, run->result->options->directory);
	if (run->file >= 0 && fill_file(run->file) >= 0)
		snprintf(run->path, sizeof(run->path), "/proc/self/fd/%d", run->file);
	else
		run->file_error = run->file < 0 ? -run->file : errno;
}

static int judge_peers(struct verification *result, struct error *error)
{
	int code = peers_judge(result->measuring, result->peers, error);

	result->peer_count = PEERS;
	peers_close(result->measuring);
	result->measuring = NULL;
	return code;
}

int verify_run(struct verification *result, const struct verify_options *options,
	       struct error *error)
{
	uint64_t start_ns = clock_monotonic_ns();
	int counting = hook_stats_begin(); /* until it is closed */
	struct run run = {.result = result, .file = -1};
	int code;

	pattern_run_ns = options->run_ns;
	code = tally_begin(result, options, error);
	if (code >= 0 && needs_file(result))
		make_file(&run);
	/* one for all: to load its programs takes longer than some patterns */
	if (code >= 0)
		code = observer_open(&result->observer,
				     &(struct observer_options){.choice = SOURCE_BPF,
								.pid = (uint32_t)getpid(),
								.blame = true},
				     error);
	if (code >= 0 && options->peers) {
		options->progress(options->data, 0, "starting other tools");
		code = peers_open(&result->measuring, options->directory, error);
	}
	for (; code >= 0 && !result->interrupted && run.round < options->rounds + EXTRA_ROUNDS;
	     run.round++)
		code = run_round(&run, error);
	if (run.file >= 0)
		close(run.file);
	if (counting >= 0)
		close(counting);
	if (result->observer)
		observer_hooks(result->observer, &result->hooks);
	observer_close(result->observer);
	/* after an interrupt they are not waited for: verify_release() ends them */
	if (code >= 0 && result->measuring && !result->interrupted)
		code = judge_peers(result, error);
	result->duration_ns = clock_monotonic_ns() - start_ns;
	tally_end(result, run.round);
	return code;
}
