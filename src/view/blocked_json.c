// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "base/histogram.h"
#include "base/json.h"
#include "model/reason.h"
#include "view/blocked.h"
#include "view/blocked_words.h"

#define VERSION 1

static const char *const frame_kinds[WIRE_FRAME_KINDS_COUNT] = {
#define X(name, number, key, help) [number] = key,
	WIRE_FRAME_KINDS(X)
#undef X
};

static const char *span_kind(unsigned int kind)
{
	switch (kind) {
#define X(name, number, key, help)                                                                 \
	case number:                                                                               \
		return key;
		WIRE_SPAN_KINDS(X)
#undef X
	}
	return "unknown";
}

static void string_or_null(struct json *json, const char *key, const char *value)
{
	if (value && *value)
		json_add_string(json, key, value);
	else
		json_add_null(json, key);
}

static void write_function(struct json *json, const struct frame *frame)
{
	char name[BLOCKED_NAME_BYTES];

	if (!frame) {
		json_add_null(json, "function");
		json_add_null(json, "file");
		json_add_null(json, "line");
		return;
	}
	blocked_name(name, frame);
	json_add_string(json, "function", name);
	string_or_null(json, "file", frame->file);
	if (frame->line)
		json_add_u64(json, "line", frame->line);
	else
		json_add_null(json, "line");
}

static void write_stack(struct json *json, const struct stalls *stalls, uint32_t id)
{
	const struct stack *stack = stalls_stack(stalls, id);

	json_array_begin(json, "stack");
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);

		if (!frame)
			continue;
		json_object_begin(json, NULL);
		json_add_string(json, "function", frame->function);
		string_or_null(json, "file", frame->file);
		if (frame->line)
			json_add_u64(json, "line", frame->line);
		else
			json_add_null(json, "line");
		string_or_null(json, "module", frame->module);
		json_add_string(json, "kind", frame_kinds[frame->kind]);
		json_add_bool(json, "inlined", frame->inlined);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_party(struct json *json, const char *key, const struct wire_party *party)
{
	char comm[sizeof(party->comm) + 1] = {0};

	if (!party->tid) {
		json_add_null(json, key);
		return;
	}
	memcpy(comm, party->comm, sizeof(party->comm));
	json_object_begin(json, key);
	json_add_u64(json, "pid", party->pid);
	json_add_u64(json, "tid", party->tid);
	json_add_string(json, "comm", comm);
}

static void write_waker(struct json *json, const struct stalls *stalls,
			const struct wire_party *waker, uint32_t function)
{
	write_party(json, "waker", waker);
	if (!waker->tid)
		return;
	write_function(json, stalls_frame(stalls, function));
	json_object_end(json);
}

static void write_culprit(struct json *json, const struct wire_party *culprit)
{
	write_party(json, "culprit", culprit);
	if (culprit->tid)
		json_object_end(json);
}

static void write_type(struct json *json, const struct stalls *stalls, uint32_t id)
{
	const struct frame *type = stalls_frame(stalls, id);

	string_or_null(json, "task", type ? type->function : NULL);
}

/* What it waited in for longest; null when it did not wait. */
static void write_reason(struct json *json, const struct wire_where *where)
{
	char text[REASON_BYTES];

	if (where->state < WIRE_RUNNABLE || where->state >= WIRE_STATES) {
		json_add_null(json, "reason");
		return;
	}
	reason_format(text, sizeof(text), *where, true);
	string_or_null(json, "reason", text);
}

static void write_state(struct json *json, const struct stalls *stalls, enum state state,
			uint64_t ns)
{
	json_add_known(json, state_info[state].key, ns,
		       stalls_measures(stalls, wire_of_state(state)));
}

/* As in docs/formats/json.md, but CPU time is not split: the kernel's split is too coarse here. */
static void write_states(struct json *json, const struct stalls *stalls,
			 const __u64 states_ns[WIRE_STATES])
{
	json_object_begin(json, "states_ns");
	json_add_u64(json, "cpu", states_ns[WIRE_ON_CPU]);
	for (__u8 state = WIRE_RUNNABLE; state < WIRE_STATES; state++)
		write_state(json, stalls, state_of_wait(state), states_ns[state]);
	json_object_end(json);
}

static void write_in_place(struct json *json, bool in_place)
{
	string_or_null(json, "legitimate", in_place ? "block_in_place" : NULL);
}

void blocked_json_stall(struct output *out, const struct stalls *stalls, const struct stall *stall)
{
	struct json json = {.out = out};
	const struct wire_stall *record = stall->record;

	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "stall");
	json_add_u64(&json, "version", VERSION);
	json_add_u64(&json, "start_ns", record->start_ns);
	json_add_u64(&json, "duration_ns", record->duration_ns);
	json_add_u64(&json, "own_ns", stall->own_ns);
	json_add_string(&json, "span", span_kind(record->kind));
	json_add_bool(&json, "began_before", record->flags & WIRE_STALL_SEEDED);
	json_add_u64(&json, "tid", record->tid);
	json_add_string(&json, "cause", stall_cause_info[stall->cause].key);
	write_reason(&json, &stall->where);
	write_function(&json, stalls_frame(stalls, stall->function));
	write_type(&json, stalls, record->type);
	if (record->task)
		json_add_u64(&json, "task_id", record->task);
	else
		json_add_null(&json, "task_id");
	write_in_place(&json, stall->in_place);
	write_states(&json, stalls, record->states_ns);
	write_stack(&json, stalls, stall->stack);
	write_waker(&json, stalls, &record->waker, stall->waker_function);
	write_culprit(&json, &stall->culprit);
	json_object_end(&json);
	output_char(out, '\n');
}

/* What a worker has not come back from at the end. */
static void write_open(struct json *json, const struct stalls *stalls,
		       const struct stall_worker *worker)
{
	struct stall_open open;

	if (!stalls_open(stalls, worker, &open)) {
		json_add_null(json, "stuck");
		return;
	}
	json_object_begin(json, "stuck");
	json_add_u64(json, "duration_ns", open.duration_ns);
	json_add_string(json, "cause", stall_cause_info[open.cause].key);
	write_reason(json, &open.where);
	write_function(json, stalls_frame(stalls, open.function));
	write_type(json, stalls, open.type);
	write_in_place(json, open.in_place);
	write_stack(json, stalls, open.stack);
	json_object_end(json);
}

static void write_workers(struct json *json, const struct blocked_summary *summary,
			  uint64_t *ret_pool)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(summary->stalls, &count);

	*ret_pool = 0;
	json_array_begin(json, "workers");
	for (size_t i = 0; i < count; i++) {
		const struct stall_worker *worker = &workers[i];
		char comm[sizeof(worker->last.comm) + 1] = {0};

		if (worker->last.kind == WIRE_SPAN_POOL) {
			++*ret_pool;
			continue;
		}
		memcpy(comm, worker->last.comm, sizeof(worker->last.comm));
		json_object_begin(json, NULL);
		json_add_u64(json, "tid", worker->last.tid);
		json_add_string(json, "comm", comm);
		json_add_string(json, "found_by", blocked_found_by(worker->last.found_by));
		json_add_u64(json, worker->last.kind == WIRE_SPAN_TURN ? "turns" : "polls",
			     worker->spans);
		json_add_u64(json,
			     worker->last.kind == WIRE_SPAN_TURN ? "max_turn_ns" : "max_poll_ns",
			     worker->longest_ns);
		json_object_begin(json, "states_ns");
		for (int state = 0; state < STATES; state++)
			write_state(json, summary->stalls, (enum state)state,
				    worker->states_ns[state]);
		json_object_end(json);
		json_add_u64(json, "stalls", worker->stalls);
		write_open(json, summary->stalls, worker);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_hotspot(struct json *json, const struct stalls *stalls,
			  const struct hotspot *hotspot)
{
	json_object_begin(json, NULL);
	json_add_string(json, "cause", stall_cause_info[hotspot->cause].key);
	write_reason(json, &hotspot->where);
	write_function(json, stalls_frame(stalls, hotspot->function));
	write_type(json, stalls, hotspot->type);
	json_add_u64(json, "count", hotspot->count);
	json_add_u64(json, "total_ns", hotspot->total_ns);
	json_add_u64(json, "max_ns", hotspot->max_ns);
	json_add_u64(json, "p50_ns",
		     histogram_percentile(hotspot->buckets, STALL_BUCKETS, 0.50, hotspot->max_ns));
	json_add_u64(json, "p99_ns",
		     histogram_percentile(hotspot->buckets, STALL_BUCKETS, 0.99, hotspot->max_ns));
	write_in_place(json, hotspot->in_place);
	write_stack(json, stalls, hotspot->stack);
	write_waker(json, stalls, &hotspot->waker, hotspot->waker_function);
	write_culprit(json, &hotspot->culprit);
	json_object_end(json);
}

static void write_quality(struct json *json, const struct blocked_summary *summary)
{
	const struct wire_runtime *runtime = stalls_runtime(summary->stalls);
	struct stall_counts counts = stalls_counts(summary->stalls);
	const struct about *about = summary->about;

	json_object_begin(json, "quality");
	json_add_u64(json, "lost", runtime->lost + counts.hotspots_lost);
	json_object_begin(json, "stacks");
	json_add_u64(json, "complete", runtime->stacks_complete);
	json_add_u64(json, "truncated", runtime->stacks_truncated);
	json_add_u64(json, "failed", runtime->stacks_failed);
	json_object_end(json);
	if (runtime->frames)
		json_add_share(json, "symbolized_share",
			       (double)runtime->frames_named / (double)runtime->frames);
	else
		json_add_null(json, "symbolized_share");
	json_add_known(json, "machine_stolen_ns", counts.machine_stolen_ns,
		       about && about_has_machine(about));
	json_add_known(json, "machine_busy_ns", counts.machine_busy_ns,
		       about && about_has_machine(about));
	json_array_begin(json, "unavailable");
	for (size_t i = 0; about && i < about->missing_count; i++) {
		json_object_begin(json, NULL);
		json_add_string(json, "source", about->missing[i].source);
		json_add_string(json, "why", about->missing[i].why);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void blocked_json_summary(struct output *out, const struct blocked_summary *summary)
{
	struct json json = {.out = out};
	const struct wire_runtime *runtime = stalls_runtime(summary->stalls);
	struct stall_counts counts = stalls_counts(summary->stalls);
	char process[sizeof(runtime->process) + 1] = {0};
	size_t count;
	const struct hotspot *hotspots;
	uint64_t pool;

	if (stalls_hotspots(summary->stalls, HOTSPOTS_BY_FUNCTION, &hotspots, &count) < 0)
		output_fail(out, ENOMEM);
	memcpy(process, runtime->process, sizeof(runtime->process));
	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "blocked");
	json_add_u64(&json, "version", VERSION);
	json_add_u64(&json, "pid", runtime->pid);
	json_add_string(&json, "process", process);
	json_add_string(&json, "runtime", runtime->name);
	json_add_u64(&json, "threshold_ns", runtime->threshold_ns);
	json_add_u64(&json, "duration_ns", counts.measured_ns);
	json_add_u64(&json, "stalls", counts.stalls);
	json_add_u64(&json, "stall_ns", counts.total_ns);
	json_add_u64(&json, "max_stall_ns", counts.max_ns);
	write_workers(&json, summary, &pool);
	json_array_begin(&json, "hotspots");
	for (size_t i = 0; i < count && (!summary->top || i < summary->top); i++)
		write_hotspot(&json, summary->stalls, &hotspots[i]);
	json_array_end(&json);
	json_add_u64(&json, "pool_threads", pool);
	write_quality(&json, summary);
	json_object_end(&json);
	output_char(out, '\n');
}
