// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell blocked` says at its end. docs/formats/json.md is the contract. */
#include <errno.h>
#include <string.h>

#include "view/blamed.h"
#include "view/blocked.h"
#include "view/blocked_words.h"
#include "view/view.h"

/* A summary with what is worked out once. */
struct blocked_result {
	const struct blocked_summary *summary;
	const struct wire_runtime *runtime;
	struct stall_counts counts;
	const struct hotspot *hotspots;
	size_t hotspot_count, pool_threads;
};

static const struct blocked_result *result_of(const struct item *item)
{
	return item->row;
}

#define RUNTIME_GETTER(name, member)                                                               \
	FIELD_GETTER(name)                                                                         \
	{                                                                                          \
		value_number(value, result_of(item)->runtime->member);                             \
	}

RUNTIME_GETTER(get_runtime_pid, pid)
RUNTIME_GETTER(get_threshold, threshold_ns)
RUNTIME_GETTER(get_stacks_complete, stacks_complete)
RUNTIME_GETTER(get_stacks_truncated, stacks_truncated)
RUNTIME_GETTER(get_stacks_failed, stacks_failed)

FIELD_GETTER(get_process)
{
	const struct wire_runtime *runtime = result_of(item)->runtime;

	value_bytes(value, runtime->process, sizeof(runtime->process));
}

VALUE_GETTER(get_runtime_name, value_string, result_of(item)->runtime->name)

FIELD_GETTER(get_blocked_lost)
{
	const struct blocked_result *result = result_of(item);

	value_number(value, result->runtime->lost + stall_counts_lost(&result->counts));
}

VALUE_GETTER(get_unexplained, value_number, result_of(item)->counts.unexplained)

FIELD_GETTER(get_symbolized)
{
	const struct wire_runtime *runtime = result_of(item)->runtime;

	value->kind = runtime->frames ? VALUE_SHARE : VALUE_NULL;
	value->real = (double)runtime->frames_named / (double)(runtime->frames + !runtime->frames);
}

static bool has_machine(const struct blocked_result *result)
{
	return result->summary->session && session_has_machine(result->summary->session);
}

FIELD_GETTER(get_stolen)
{
	const struct blocked_result *result = result_of(item);

	value_known(value, result->counts.machine_stolen_ns, has_machine(result));
}

FIELD_GETTER(get_busy)
{
	const struct blocked_result *result = result_of(item);

	value_known(value, result->counts.machine_busy_ns, has_machine(result));
}

FIELD_GETTER(get_unavailable)
{
	const struct session_info *session = result_of(item)->summary->session;

	value_rows(value, session ? session->missing : NULL, session ? session->missing_count : 0,
		   sizeof(struct wire_missing), NULL);
}

static const struct field stacks_fields[] = {
	INTEGER_FIELD("complete", get_stacks_complete, "to the thread's start"),
	INTEGER_FIELD("truncated", get_stacks_truncated, "ended early"),
	INTEGER_FIELD("failed", get_stacks_failed, "without a frame"),
};

static const struct schema stacks_schema = {
	.name = "stacks", .help = "how many were walked", SCHEMA_FIELDS(stacks_fields)};

VALUE_GETTER(get_sampled, value_bool, blocked_is_sampled(result_of(item)->runtime))

static void value_share(struct value *value, double share, bool known)
{
	value->kind = known ? VALUE_SHARE : VALUE_NULL;
	value->real = known ? share : 0;
}

FIELD_GETTER(get_probed_share)
{
	const struct wire_runtime *runtime = result_of(item)->runtime;

	value_share(value, (double)runtime->probed_ns / (double)runtime->observed_ns, true);
}

FIELD_GETTER(get_cost_share)
{
	double cost = blocked_probes_cost(result_of(item)->runtime);

	value_share(value, cost, cost >= 0);
}

VALUE_GETTER(get_budget_share, value_share, result_of(item)->runtime->budget / 10000.0, true)

static const struct field probes_fields[] = {
	BOOL_FIELD("sampled", get_sampled, "they were off for a part of the time"),
	SHARE_FIELD("probed_share", get_probed_share, "of the time, with the probes on"),
	SHARE_FIELD("cost_share", get_cost_share,
		    "what they added to the target's CPU time; null: not measured"),
	SHARE_FIELD("budget_share", get_budget_share, "what dwell may cost it"),
};

static const struct schema probes_schema = {
	.name = "probes", .help = "how much of the polls was seen", SCHEMA_FIELDS(probes_fields)};

FIELD_GETTER(get_probes)
{
	if (result_of(item)->runtime->observed_ns)
		value_object(value, item->row, item->context);
	else
		value_null(value);
}

static const struct field quality_fields[] = {
	INTEGER_FIELD("lost", get_blocked_lost, "stalls, stacks and workers that found no room"),
	OBJECT_FIELD("stacks", get_same_row, &stacks_schema, "how many were walked"),
	INTEGER_FIELD("stalls_without_stack", get_unexplained,
		      "of which it is not known what did them"),
	OBJECT_FIELD("probes", get_probes, &probes_schema,
		     "on polls of tasks; null: there are none, or for less than a second"),
	SHARE_FIELD("symbolized_share", get_symbolized, "of the addresses seen, those with a name"),
	INTEGER_FIELD("machine_stolen_ns", get_stolen, "what the hypervisor took from all CPUs"),
	INTEGER_FIELD("machine_busy_ns", get_busy, "busy and stolen time of all CPUs"),
	LIST_FIELD("unavailable", get_unavailable, NULL, &missing_schema, "what is not measured"),
};

static const struct schema quality_schema = {.name = "blocked_quality",
					     .help = "how far to trust the figures",
					     SCHEMA_FIELDS(quality_fields)};

FIELD_GETTER(get_workers)
{
	struct stalls *stalls = result_of(item)->summary->stalls;
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	value_rows(value, workers, count, sizeof(*workers), stalls);
}

FIELD_ELEMENT(worker_element)
{
	struct stalls *stalls = result_of(item)->summary->stalls;
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	if (workers[index].last.kind == WIRE_SPAN_POOL)
		value_absent(value);
	else
		value_object(value, &workers[index], stalls);
}

FIELD_GETTER(get_hotspots)
{
	value_elements(value, result_of(item)->hotspot_count);
}

FIELD_ELEMENT(hotspot_element)
{
	const struct hotspot *hotspot = &result_of(item)->hotspots[index];
	struct blamed blamed = {.row = hotspot,
				.blame = {hotspot->cause, hotspot->site, hotspot->function,
					  hotspot->type, hotspot->stack, hotspot->in_place,
					  &hotspot->waker, &hotspot->culprit,
					  hotspot->waker_function, &hotspot->limit}};

	value_made(value, &blamed, sizeof(blamed), result_of(item)->summary->stalls);
}

FIELD_GETTER(get_tasks)
{
	struct stalls *stalls = result_of(item)->summary->stalls;
	size_t count;
	const struct task *tasks = stalls_tasks(stalls, &count);

	if (stalls_has_tasks(stalls))
		value_rows(value, tasks, count, sizeof(*tasks), stalls);
	else
		value_null(value);
}

FIELD_GETTER(get_unjudged)
{
	struct stalls_unjudged unjudged;

	if (stalls_unjudged(result_of(item)->summary->stalls, &unjudged))
		value_made(value, &unjudged, sizeof(unjudged), NULL);
	else
		value_null(value);
}

FIELD_GETTER(get_unjudged_comm)
{
	const struct stalls_unjudged *unjudged = item->row;

	value_bytes(value, unjudged->comm, sizeof(unjudged->comm));
}

static const struct field unjudged_fields[] = {
	NUMBER_MEMBER(struct stalls_unjudged, tid, "tid", "thread id"),
	STRING_FIELD("comm", get_unjudged_comm, "its name"),
	NUMBER_MEMBER(struct stalls_unjudged, cpu_ns, "cpu_ns", "what it used"),
	NUMBER_MEMBER(struct stalls_unjudged, process_ns, "process_cpu_ns",
		      "what all threads of the process used"),
};

static const struct schema unjudged_schema = {.name = "unjudged",
					      .help = "a thread whose work no span shows",
					      SCHEMA_FIELDS(unjudged_fields)};

FIELD_GETTER(get_starved_by)
{
	value_starved(value, result_of(item)->summary);
}

static const struct field blocked_fields[] = {
	INTEGER_FIELD("pid", get_runtime_pid, "process id", .flags = FIELD_OF_ROWS),
	STRING_FIELD("process", get_process, "its name", .flags = FIELD_OF_ROWS),
	STRING_FIELD("runtime", get_runtime_name, "which one was found"),
	INTEGER_FIELD("threshold_ns", get_threshold, "what takes longer is a stall"),
	NUMBER_MEMBER(struct blocked_result, counts.measured_ns, "duration_ns", "time measured"),
	NUMBER_MEMBER(struct blocked_result, counts.end_ns, "end_ns",
		      "its end, ns of CLOCK_MONOTONIC"),
	NUMBER_MEMBER(struct blocked_result, counts.stalls, "stalls", "how many"),
	NUMBER_MEMBER(struct blocked_result, counts.total_ns, "stall_ns", "their time"),
	NUMBER_MEMBER(struct blocked_result, counts.max_ns, "max_stall_ns", "the longest"),
	LIST_FIELD("workers", get_workers, worker_element, &blocked_worker_schema, "what they did"),
	LIST_FIELD("hotspots", get_hotspots, hotspot_element, &hotspot_schema,
		   "stalls by function and cause"),
	LIST_FIELD("tasks", get_tasks, NULL, &task_schema,
		   "types of tasks, the busiest first; null: no polls are probed, or not recorded"),
	LIST_FIELD("starved_by", get_starved_by, NULL, &starved_schema,
		   "with --blame: because of whom the workers waited for a CPU",
		   .flags = FIELD_MAYBE),
	NUMBER_MEMBER(struct blocked_result, pool_threads, "pool_threads",
		      "threads that ran closures of the blocking pool"),
	OBJECT_FIELD("not_judged", get_unjudged, &unjudged_schema,
		     "used most of the process's CPU time, and was seen in no poll and no turn; "
		     "null: none did"),
	OBJECT_FIELD("quality", get_same_row, &quality_schema, "how far to trust it"),
};

const struct schema blocked_schema = {.name = "blocked",
				      .help = "what blocked the workers of a runtime",
				      .version = 1,
				      SCHEMA_FIELDS(blocked_fields),
				      .table = "hotspot"};

static const struct schema tasks_schema = {.name = "blocked",
					   .help = "the same, by type of task",
					   .version = 1,
					   SCHEMA_FIELDS(blocked_fields),
					   .table = "task"};

const struct schema *const blocked_row_schemas[BLOCKED_ROWS_COUNT] = {
	[BLOCKED_BY_HOTSPOT] = &blocked_schema, [BLOCKED_BY_TASK] = &tasks_schema};

static size_t pool_threads(const struct blocked_summary *summary)
{
	size_t count, pool = 0;
	const struct stall_worker *workers = stalls_workers(summary->stalls, &count);

	for (size_t i = 0; i < count; i++)
		pool += workers[i].last.kind == WIRE_SPAN_POOL;
	return pool;
}

int blocked_emit(const struct emit *emit, const struct blocked_summary *summary)
{
	struct blocked_result result = {.summary = summary,
					.runtime = stalls_runtime(summary->stalls),
					.counts = stalls_counts(summary->stalls),
					.pool_threads = pool_threads(summary)};
	struct item item = {&result, NULL};

	if (stalls_hotspots(summary->stalls, HOTSPOTS_BY_FUNCTION, &result.hotspots,
			    &result.hotspot_count) < 0)
		return -ENOMEM;
	emit_result(emit, &item);
	return 0;
}
