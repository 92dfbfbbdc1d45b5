// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/peers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/duration.h"
#include "session/observer.h"
#include "verify/peer_tool.h"

/* The kernel's own counters, as dwell's other sources read them. */
struct counter {
	const char *name;
	enum source_choice source;
	struct observer *observer; /* NULL: of no batch now */
	struct peer_sums sums;
	struct error why; /* it cannot be read here */
};

#define COUNTERS 2

_Static_assert(PEERS == 1 + COUNTERS + PEER_TOOLS, "dwell, the counters, the tools");

/* What a thread knows of itself. */
struct known {
	const char *pattern;
	uint32_t tid; /* 0: the kernel has used it twice, and tools know nothing else */
	uint64_t wall_ns, ns[PEER_TIMES];
	struct judge_open open;
};

struct peers {
	struct known *known;
	size_t count, room;
	struct identities tids; /* of them */
	struct peer_sums own;
	struct counter counters[COUNTERS];
	struct peer_tool tools[PEER_TOOLS];
	struct peer_sums sums[PEER_TOOLS];
};

#define ALL_TIMES (1U << PEER_CPU | 1U << PEER_RUNNABLE | 1U << PEER_BLOCKED)

int peers_open(struct peers **ret_peers, const char *directory, struct error *error)
{
	struct peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return error_set(error, ENOMEM, "out of memory");
	peers->counters[0] = (struct counter){.name = "schedstat", .source = SOURCE_PROCFS};
	peers->counters[1] = (struct counter){.name = "taskstats", .source = SOURCE_TASKSTATS};
	for (size_t i = 0; i < PEER_TOOLS; i++)
		peer_tool_start(&peers->tools[i], &peer_tool_kinds[i], directory);
	for (size_t i = 0; i < PEER_TOOLS; i++)
		peer_tool_await(&peers->tools[i]);
	*ret_peers = peers;
	return 0;
}

static int add_row(struct peer_sums *sums, const struct row *row)
{
	uint64_t cpu_ns = row->states_ns[STATE_USER] + row->states_ns[STATE_KERNEL];
	uint64_t runnable_ns = row->states_ns[STATE_RUNNABLE], off_ns = row->observed_ns - cpu_ns;
	int result = peer_sums_add(sums, row->tid, PEER_CPU, cpu_ns);

	if (result >= 0)
		result = peer_sums_add(sums, row->tid, PEER_RUNNABLE, runnable_ns);
	if (result >= 0)
		result = peer_sums_add(sums, row->tid, PEER_BLOCKED,
				       off_ns > runnable_ns ? off_ns - runnable_ns : 0);
	return result;
}

static int add_interval(struct counter *counter, struct error *error)
{
	const struct interval *interval = observer_interval(counter->observer);

	for (size_t i = 0; interval && i < interval->row_count; i++)
		if (add_row(&counter->sums, &interval->rows[i]) < 0)
			return error_set(error, ENOMEM, "out of memory");
	return 0;
}

int peers_begin(struct peers *peers, pid_t pid, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < COUNTERS; i++) {
		struct counter *counter = &peers->counters[i];

		if (*counter->why.text)
			continue;
		result = observer_open(
			&counter->observer,
			&(struct observer_options){.choice = counter->source, .pid = (uint32_t)pid},
			&counter->why);
		result = counter->observer ? observer_begin(counter->observer, error) : 0;
	}
	return result;
}

int peers_read(struct peers *peers, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < COUNTERS; i++) {
		struct counter *counter = &peers->counters[i];

		if (!counter->observer)
			continue;
		result = observer_work(counter->observer, error);
		if (result >= 0)
			result = observer_begin(counter->observer, error);
		if (result >= 0)
			result = add_interval(counter, error);
	}
	return result;
}

int peers_end(struct peers *peers, struct error *error)
{
	int result = 0;

	for (size_t i = 0; i < COUNTERS; i++) {
		struct counter *counter = &peers->counters[i];

		if (result >= 0 && counter->observer)
			result = observer_end(counter->observer, error);
		if (result >= 0 && counter->observer)
			result = add_interval(counter, error);
		observer_close(counter->observer);
		counter->observer = NULL;
	}
	return result;
}

int peers_add(struct peers *peers, const char *pattern, const struct truth *truth,
	      const struct row *row, const struct interval *interval)
{
	size_t number = identities_add(&peers->tids, truth->tid, 0);
	uint64_t runnable_ns = truth->states_ns[STATE_RUNNABLE];
	uint64_t off_ns = truth->wall_ns > truth->cpu_ns ? truth->wall_ns - truth->cpu_ns : 0;

	if (number == IDENTITY_NONE ||
	    array_reserve(&peers->known, &peers->room, peers->count + 1, sizeof(*peers->known)) < 0)
		return -ENOMEM;
	if (number < peers->count) {
		peers->known[number].tid = 0;
		return 0;
	}
	peers->known[peers->count++] = (struct known){
		.pattern = pattern,
		.tid = truth->tid,
		.wall_ns = truth->wall_ns,
		.ns = {[PEER_CPU] = truth->cpu_ns,
		       [PEER_RUNNABLE] = runnable_ns,
		       [PEER_BLOCKED] = off_ns > runnable_ns ? off_ns - runnable_ns : 0,
		       [PEER_OFF_CPU] = off_ns},
		.open = judge_open_of(truth, row, interval),
	};
	return add_row(&peers->own, row);
}

/* What is open of it as of which state. */
static const enum state states[PEER_TIMES] = {[PEER_CPU] = STATE_USER,
					      [PEER_RUNNABLE] = STATE_RUNNABLE,
					      [PEER_BLOCKED] = STATE_SLEEP,
					      [PEER_OFF_CPU] = STATE_SLEEP};

static const char *const time_names[PEER_TIMES] = {[PEER_CPU] = "CPU",
						   [PEER_RUNNABLE] = "run queue",
						   [PEER_BLOCKED] = "blocked",
						   [PEER_OFF_CPU] = "off-CPU"};

/* The place of each kind of time among those that are measured. */
static void list_times(struct peer_result *result, unsigned int times, size_t places[PEER_TIMES])
{
	for (int f = 0; f < PEER_TIMES; f++) {
		places[f] = result->time_count;
		if (times & 1U << f)
			result->times[result->time_count++].name = time_names[f];
	}
}

static int judge(const struct peers *peers, const struct peer_sums *sums, unsigned int times,
		 struct peer_result *result)
{
	size_t places[PEER_TIMES];
	int code = 0;

	list_times(result, times, places);
	for (size_t i = 0; code >= 0 && i < peers->count; i++) {
		const struct known *known = &peers->known[i];
		const uint64_t *seen = known->tid ? peer_sums_find(sums, known->tid) : NULL;

		if (!known->tid)
			continue;
		result->threads += seen != NULL;
		result->unseen += !seen;
		for (int f = 0; code >= 0 && seen && f < PEER_TIMES; f++) {
			double error = times & 1U << f
					       ? judge_error(states[f], seen[f], known->ns[f],
							     &known->open, known->wall_ns)
					       : NAN;

			if (isnan(error))
				continue;
			code = ranks_add(&result->errors, error, known->pattern);
			if (code >= 0)
				code = ranks_add(&result->times[places[f]].errors, error,
						 known->pattern);
		}
	}
	ranks_end(&result->errors);
	for (size_t i = 0; i < result->time_count; i++)
		ranks_end(&result->times[i].errors);
	return code;
}

int peers_judge(struct peers *peers, struct peer_result results[PEERS], struct error *error)
{
	static const char all[] = "CPU, run queue, blocked";
	struct peer_result *next = results;
	int code;

	*next = (struct peer_result){.name = "dwell", .measures = all};
	code = judge(peers, &peers->own, ALL_TIMES, next++);
	for (size_t i = 0; i < COUNTERS; i++, next++) {
		const struct counter *counter = &peers->counters[i];

		*next = (struct peer_result){
			.name = counter->name, .measures = all, .why = counter->why};
		if (code >= 0 && !*next->why.text)
			code = judge(peers, &counter->sums, ALL_TIMES, next);
	}
	for (size_t i = 0; i < PEER_TOOLS; i++, next++) {
		struct peer_tool *tool = &peers->tools[i];
		unsigned int times = tool->kind->times;

		*next = (struct peer_result){.name = tool->kind->name,
					     .measures = times & 1U << PEER_CPU ? all
							 : times & 1U << PEER_OFF_CPU
								 ? "off-CPU"
								 : "run queue"};
		if (code >= 0)
			code = peer_tool_end(tool, &peers->sums[i]);
		next->why = tool->why;
		if (code >= 0 && !*next->why.text)
			code = judge(peers, &peers->sums[i], times, next);
	}
	return code < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}

void peer_result_release(struct peer_result *result)
{
	ranks_release(&result->errors);
	for (size_t i = 0; i < result->time_count; i++)
		ranks_release(&result->times[i].errors);
}

void peers_close(struct peers *peers)
{
	if (!peers)
		return;
	for (size_t i = 0; i < COUNTERS; i++) {
		observer_close(peers->counters[i].observer);
		peer_sums_release(&peers->counters[i].sums);
	}
	for (size_t i = 0; i < PEER_TOOLS; i++) {
		peer_tool_release(&peers->tools[i]);
		peer_sums_release(&peers->sums[i]);
	}
	peer_sums_release(&peers->own);
	identities_release(&peers->tids);
	free(peers->known);
	free(peers);
}
