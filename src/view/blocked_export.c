// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/blocked_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "model/reason.h"
#include "view/blamed.h"
#include "view/blocked_words.h"

/* Trace events: a complete one (X) for each stall on the track of its worker. */
static void chrome_begin(struct blocked_export *export)
{
	export->events.out = export->out;
	trace_events_begin(&export->events);
}

static void chrome_stack(struct json *json, const struct stalls *stalls, uint32_t id)
{
	const struct stack *stack = stalls_stack(stalls, id);

	json_array_begin(json, "stack");
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);

		if (frame)
			json_add_string(json, NULL, frame->function);
	}
	json_array_end(json);
}

static void name_of_part(char name[BLOCKED_NAME_BYTES], const struct stalls *stalls,
			 const struct stall_part *part)
{
	const struct frame *function = stalls_frame(stalls, part->function);

	snprintf(name, BLOCKED_NAME_BYTES, "%s", blocked_without_function(part->cause));
	if (function)
		blocked_name(name, function);
}

static void chrome_cause(struct json *json, const struct stalls *stalls,
			 const struct stall_part *part)
{
	const struct stall_blame blame = {.cause = part->cause,
					  .waker = &part->waker,
					  .culprit = &part->culprit,
					  .waker_function = part->waker_function,
					  .limit = &part->limit};
	char reason[REASON_BYTES], through[BLOCKED_THROUGH_BYTES];

	json_add_string(json, "cause", stall_cause_info[part->cause].key);
	if (part->site.state) {
		reason_format(reason, sizeof(reason), part->site, true);
		json_add_string(json, "reason", reason);
	}
	blocked_through(through, &blame, stalls);
	if (*through)
		json_add_string(json, "through", through);
	if (part->in_place)
		json_add_string(json, "legitimate", "block_in_place");
}

static void chrome_part(struct json *json, const struct stalls *stalls,
			const struct stall_part *part)
{
	char name[BLOCKED_NAME_BYTES];

	name_of_part(name, stalls, part);
	json_object_begin(json, NULL);
	json_add_string(json, "name", name);
	chrome_cause(json, stalls, part);
	trace_event_time(json, "us", part->ns);
	chrome_stack(json, stalls, part->stack);
	json_object_end(json);
}

static int chrome_stall(struct blocked_export *export, const struct stall *stall)
{
	struct json json = {.out = export->out};
	const struct wire_stall *record = stall->record;
	const struct stall_part *main = &stall->parts[0];
	const struct frame *type = stalls_frame(export->stalls, record->type);
	char name[BLOCKED_NAME_BYTES];

	name_of_part(name, export->stalls, main);
	trace_events_separate(&export->events);
	json_object_begin(&json, NULL);
	json_add_string(&json, "name", name);
	json_add_string(&json, "cat", stall_cause_info[main->cause].key);
	json_add_string(&json, "ph", "X");
	trace_event_time(&json, "ts", record->start_ns);
	trace_event_time(&json, "dur", record->duration_ns);
	json_add_u64(&json, "pid", record->pid);
	json_add_u64(&json, "tid", record->tid);
	json_object_begin(&json, "args");
	chrome_cause(&json, export->stalls, main);
	if (type)
		json_add_string(&json, "task", type->function);
	for (__u8 state = 0; state < WIRE_STATES; state++)
		if (record->states_ns[state])
			trace_event_time(&json,
					 state ? state_info[state_of_wait(state)].key : "cpu",
					 record->states_ns[state]);
	chrome_stack(&json, export->stalls, main->stack);
	json_array_begin(&json, "parts");
	for (size_t i = 0; i < stall->part_count; i++)
		chrome_part(&json, export->stalls, &stall->parts[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_object_end(&json);
	return 0;
}

static void chrome_end(struct blocked_export *export, const struct blocked_summary *summary)
{
	const struct wire_runtime *runtime = stalls_runtime(summary->stalls);
	struct stall_counts counts = stalls_counts(summary->stalls);
	char name[sizeof(runtime->process) + 1] = {0};
	size_t count;
	const struct stall_worker *workers = stalls_workers(summary->stalls, &count);
	struct json json = {.out = export->out};

	memcpy(name, runtime->process, sizeof(runtime->process));
	trace_events_name(&export->events, "process_name", runtime->pid, runtime->pid, name);
	for (size_t i = 0; i < count; i++) {
		char comm[sizeof(workers[i].last.comm) + 1] = {0};

		memcpy(comm, workers[i].last.comm, sizeof(workers[i].last.comm));
		trace_events_name(&export->events, "thread_name", workers[i].last.pid,
				  workers[i].last.tid, comm);
	}
	trace_events_separate(&export->events);
	json_object_begin(&json, NULL);
	json_add_string(&json, "name", "lost");
	json_add_string(&json, "ph", "C");
	trace_event_time(&json, "ts", runtime->header.time_ns);
	json_add_u64(&json, "pid", runtime->pid);
	json_object_begin(&json, "args");
	json_add_u64(&json, "lost", runtime->lost + stall_counts_lost(&counts));
	json_object_end(&json);
	json_object_end(&json);
	trace_events_end(&export->events);
}

static const struct blocked_export_ops export_chrome = {
	.name = "chrome",
	.help = "a trace for Perfetto, speedscope or chrome://tracing",
	.begin = chrome_begin,
	.stall = chrome_stall,
	.end = chrome_end,
};

static void begin_nothing(struct blocked_export *export)
{
	(void)export;
}

static int folded_part(struct blocked_export *export, const struct stall_part *part)
{
	size_t before = export->stack_room;

	if (!part->stack || stall_cause_is_machine(part->cause)) {
		export->without_stack_ns[part->cause] += part->ns;
		return 0;
	}
	if (array_reserve(&export->stack_ns, &export->stack_room, part->stack + 1,
			  sizeof(*export->stack_ns)) < 0)
		return -ENOMEM;
	for (size_t i = before; i < export->stack_room; i++)
		export->stack_ns[i] = 0;
	export->stack_ns[part->stack] += part->ns;
	return 0;
}

/*
 * Folded stacks, as flame graph tools read them: `outermost;…;innermost NANOSECONDS`. Each part of
 * a stall counts for the stack that explains it, or for the machine that took the CPU away.
 */
static int folded_stall(struct blocked_export *export, const struct stall *stall)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < stall->part_count; i++)
		result = folded_part(export, &stall->parts[i]);
	return result;
}

static void folded_weight(struct output *out, uint64_t ns)
{
	output_char(out, ' ');
	output_u64(out, ns);
	output_char(out, '\n');
}

/* Names may have the separators in them. */
static void folded_name(struct output *out, const char *name)
{
	char shown[512];

	text_printable(shown, sizeof(shown), name, sizeof(shown));
	for (char *at = shown; *at; at++)
		output_char(out, (char)(*at == ';' ? ':' : *at));
}

static void folded_end(struct blocked_export *export, const struct blocked_summary *summary)
{
	(void)summary;
	for (size_t id = 0; id < export->stack_room; id++) {
		const struct stack *stack = stalls_stack(export->stalls, (uint32_t)id);
		bool some = false;

		if (!export->stack_ns[id])
			continue;
		for (uint32_t i = stack ? stack->count : 0; i--;) {
			const struct frame *frame = stalls_frame(export->stalls, stack->frames[i]);

			if (!frame)
				continue;
			if (some)
				output_char(export->out, ';');
			folded_name(export->out, frame->function);
			some = true;
		}
		if (!some)
			output_string(export->out, blocked_without_function(CAUSE_CPU));
		folded_weight(export->out, export->stack_ns[id]);
	}
	for (enum stall_cause cause = 0; cause < STALL_CAUSES_COUNT; cause++) {
		if (!export->without_stack_ns[cause])
			continue;
		output_string(export->out, blocked_without_function(cause));
		folded_weight(export->out, export->without_stack_ns[cause]);
	}
}

static const struct blocked_export_ops export_folded = {
	.name = "folded",
	.help = "stacks and nanoseconds, for flame graphs",
	.begin = begin_nothing,
	.stall = folded_stall,
	.end = folded_end,
};

static int json_stall(struct blocked_export *export, const struct stall *stall)
{
	blocked_json_stall(export->out, export->stalls, stall);
	return 0;
}

static void json_end(struct blocked_export *export, const struct blocked_summary *summary)
{
	struct emit emit = {.format = &format_json,
			    .schema = &blocked_schema,
			    .levels = ~0U,
			    .out = export->out};

	if (blocked_emit(&emit, summary) < 0)
		output_fail(export->out, ENOMEM);
}

static const struct blocked_export_ops export_json = {
	.name = "json",
	.help = "as --format json",
	.begin = begin_nothing,
	.stall = json_stall,
	.end = json_end,
};

const struct blocked_export_ops *const blocked_exports[] = {&export_chrome, &export_folded,
							    &export_json};
const size_t blocked_export_count = ARRAY_SIZE(blocked_exports);

const struct blocked_export_ops *blocked_export_find(const char *name)
{
	for (size_t i = 0; i < blocked_export_count; i++)
		if (!strcmp(blocked_exports[i]->name, name))
			return blocked_exports[i];
	return NULL;
}

void blocked_export_release(struct blocked_export *export)
{
	free(export->stack_ns);
}
