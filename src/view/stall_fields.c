// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell blocked` says of stalls. docs/formats/json.md is the contract. */
#include <assert.h>
#include <string.h>

#include "base/histogram.h"
#include "model/reason.h"
#include "view/blamed.h"
#include "view/blocked.h"
#include "view/blocked_words.h"
#include "view/frames.h"
#include "view/view.h"

static_assert(REASON_BYTES <= VALUE_TEXT_BYTES, "reasons fit a value");

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

static_assert(sizeof(struct blamed) <= VALUE_TEXT_BYTES, "such a row fits a value");

static const struct stall_blame *blame_of(const struct item *item)
{
	return &((const struct blamed *)item->row)->blame;
}

VALUE_GETTER(get_cause, value_string, stall_cause_info[blame_of(item)->cause].key)

/* What it waited in for longest; null when it did not wait. */
FIELD_GETTER(get_reason)
{
	struct wire_wait_site site = blame_of(item)->site;

	if (site.state < WIRE_RUNNABLE || site.state >= WIRE_STATES) {
		value_null(value);
		return;
	}
	reason_format(value->text, sizeof(value->text), site, true);
	value_text(value, value->text);
}

static struct item function_of(const struct item *item)
{
	return (struct item){stalls_frame(item->context, blame_of(item)->function), NULL};
}

FIELD_GETTER(get_function)
{
	struct item function = function_of(item);

	frame_get_short_name(field, &function, value);
}

FIELD_GETTER(get_function_file)
{
	struct item function = function_of(item);

	frame_get_file(field, &function, value);
}

FIELD_GETTER(get_function_line)
{
	struct item function = function_of(item);

	frame_get_line(field, &function, value);
}

FIELD_GETTER(get_task)
{
	const struct frame *type = stalls_frame(item->context, blame_of(item)->type);

	value_text(value, type ? type->function : NULL);
}

VALUE_GETTER(get_legitimate, value_text, blame_of(item)->in_place ? "block_in_place" : NULL)

FIELD_GETTER(get_stack)
{
	const struct stack *stack = stalls_stack(item->context, blame_of(item)->stack);

	value_elements(value, stack ? stack->count : 0);
}

FIELD_ELEMENT(stack_frame)
{
	const struct stack *stack = stalls_stack(item->context, blame_of(item)->stack);
	const struct frame *frame = stalls_frame(item->context, stack->frames[index]);

	if (frame)
		value_object(value, frame, NULL);
	else
		value_absent(value);
}

FIELD_GETTER(get_peer_comm)
{
	const struct wire_peer *peer = item->row;

	value_bytes(value, peer->comm, sizeof(peer->comm));
}

/* A peer of a wait: the context is the struct frame it was in, or NULL. */
#define PEER_FIELDS                                                                                \
	NUMBER_MEMBER(struct wire_peer, pid, "pid", "process id"),                                 \
		NUMBER_MEMBER(struct wire_peer, tid, "tid", "thread id"),                          \
		STRING_FIELD("comm", get_peer_comm, "thread name")

FIELD_GETTER(get_waker_function)
{
	struct item function = {item->context, NULL};

	frame_get_short_name(field, &function, value);
}

FIELD_GETTER(get_waker_file)
{
	struct item function = {item->context, NULL};

	frame_get_file(field, &function, value);
}

FIELD_GETTER(get_waker_line)
{
	struct item function = {item->context, NULL};

	frame_get_line(field, &function, value);
}

static const struct field culprit_fields[] = {PEER_FIELDS};

static const struct field waker_fields[] = {
	PEER_FIELDS,
	STRING_FIELD("function", get_waker_function, "what it did then", .width = 40),
	STRING_FIELD("file", get_waker_file, "source file"),
	INTEGER_FIELD("line", get_waker_line, "line in it"),
};

static const struct schema culprit_schema = {
	.name = "culprit",
	.help = "thread that had the CPU for most of the longest wait",
	SCHEMA_FIELDS(culprit_fields)};

static const struct schema waker_schema = {
	.name = "waker",
	.help = "thread of the same process that ended the longest wait",
	SCHEMA_FIELDS(waker_fields)};

VALUE_GETTER(get_limit_cgroup, value_text,
	     stalls_cgroup(item->context, wire_peer_cgroup(item->row)))

static const struct field limit_fields[] = {
	STRING_FIELD("cgroup", get_limit_cgroup, "its path; null: one of cgroups v1"),
	STRING_FIELD("name", get_peer_comm, "the first 15 bytes of its name"),
};

static const struct schema limit_schema = {
	.name = "limit", .help = "cgroup whose CPU limit was reached", SCHEMA_FIELDS(limit_fields)};

static void value_peer(struct value *value, const struct wire_peer *peer,
		       const struct frame *function)
{
	if (peer && peer->tid)
		value_object(value, peer, function);
	else
		value_null(value);
}

FIELD_GETTER(get_waker)
{
	const struct stall_blame *blame = blame_of(item);

	value_peer(value, blame->waker, stalls_frame(item->context, blame->waker_function));
}

FIELD_GETTER(get_culprit)
{
	value_peer(value, blame_of(item)->culprit, NULL);
}

FIELD_GETTER(get_limit)
{
	const struct wire_peer *limit = blame_of(item)->limit;

	if (limit && *limit->comm)
		value_object(value, limit, item->context);
	else
		value_null(value);
}

#define CAUSE_FIELDS                                                                               \
	STRING_FIELD("cause", get_cause, "the state that took longest", .header = "CAUSE"),        \
		STRING_FIELD("reason", get_reason,                                                 \
			     "the system call of the longest wait, and what it was on")

#define PLACE_FIELDS                                                                               \
	STRING_FIELD("function", get_function, "innermost of the program's own",                   \
		     .header = "FUNCTION", .width = 40),                                           \
		STRING_FIELD("file", get_function_file, "its source file"),                        \
		INTEGER_FIELD("line", get_function_line, "line in it"),                            \
		STRING_FIELD("task", get_task, "type of the task", .width = 32)

#define LEGITIMATE_FIELD                                                                           \
	STRING_FIELD("legitimate", get_legitimate,                                                 \
		     "block_in_place: the task announced that it would block")

#define STACK_FIELD LIST_FIELD("stack", get_stack, stack_frame, &frame_schema, "innermost first")

#define PEERS_FIELDS                                                                               \
	OBJECT_FIELD("waker", get_waker, &waker_schema, "who ended the longest wait"),             \
		OBJECT_FIELD("culprit", get_culprit, &culprit_schema,                              \
			     "who had the CPU for most of the longest wait for one"),              \
		OBJECT_FIELD("limit", get_limit, &limit_schema,                                    \
			     "the cgroup whose CPU limit it had reached then")

static const struct stall *stall_of(const struct item *item)
{
	return ((const struct blamed *)item->row)->row;
}

/* A getter of a stall's record. */
#define RECORD_GETTER(name)                                                                        \
	static void name##_of(const struct wire_stall *record, struct value *value);               \
	FIELD_GETTER(name)                                                                         \
	{                                                                                          \
		name##_of(stall_of(item)->record, value);                                          \
	}                                                                                          \
	static void name##_of(const struct wire_stall *record, struct value *value)

RECORD_GETTER(get_stall_start)
{
	value_number(value, record->start_ns);
}

RECORD_GETTER(get_stall_duration)
{
	value_number(value, record->duration_ns);
}

VALUE_GETTER(get_stall_own, value_number, stall_of(item)->own_ns)

RECORD_GETTER(get_span)
{
	value_string(value, span_kind(record->kind));
}

RECORD_GETTER(get_began_before)
{
	value_bool(value, record->flags & WIRE_STALL_SEEDED);
}

RECORD_GETTER(get_unprobed)
{
	value_bool(value, record->flags & WIRE_STALL_UNPROBED);
}

RECORD_GETTER(get_stall_tid)
{
	value_number(value, record->tid);
}

RECORD_GETTER(get_task_id)
{
	value_known(value, record->task, record->task);
}

RECORD_GETTER(get_stall_cpu)
{
	value_number(value, record->states_ns[WIRE_ON_CPU]);
}

FIELD_GETTER(get_stall_state)
{
	unsigned int wire = wire_of_state((enum state)field->argument);

	value_known(value, stall_of(item)->record->states_ns[wire],
		    stalls_measures(item->context, (__u8)wire));
}

/* As in docs/formats/json.md, but CPU time is not split: the kernel's split is too coarse here. */
#define STALL_STATE_FIELD(name_, number, key_, header_, help_)                                     \
	INTEGER_FIELD(key_, get_stall_state, help_, .group = "states_ns",                          \
		      .argument = STATE_##name_),

static struct blamed blamed_part(const void *row, const struct stall *stall, size_t number)
{
	const struct stall_part *part = &stall->parts[number];

	return (struct blamed){
		.row = row,
		.duration_ns = part->ns,
		.blame = {part->cause, part->site, part->function, stall->record->type, part->stack,
			  part->in_place, &part->waker, &part->culprit, part->waker_function,
			  &part->limit},
	};
}

static const struct field part_fields[] = {
	CAUSE_FIELDS,
	NUMBER_MEMBER(struct blamed, duration_ns, "ns", "how long it was in that state"),
	PLACE_FIELDS,
	LEGITIMATE_FIELD,
	STACK_FIELD,
	PEERS_FIELDS,
};

static const struct schema part_schema = {.name = "stall_part",
					  .help = "what a stall spent in one state, and where",
					  SCHEMA_FIELDS(part_fields)};

FIELD_GETTER(get_parts)
{
	value_elements(value, stall_of(item)->part_count);
}

FIELD_ELEMENT(part_element)
{
	const struct stall *stall = stall_of(item);
	struct blamed blamed = blamed_part(&stall->parts[index], stall, index);

	value_made(value, &blamed, sizeof(blamed), item->context);
}

static const struct field stall_fields[] = {
	INTEGER_FIELD("start_ns", get_stall_start, "CLOCK_MONOTONIC"),
	INTEGER_FIELD("duration_ns", get_stall_duration, "how long it was"),
	INTEGER_FIELD("own_ns", get_stall_own, "without the spans inside it"),
	STRING_FIELD("span", get_span, "poll, root or turn"),
	BOOL_FIELD("began_before", get_began_before, "it was running when it was first looked at"),
	BOOL_FIELD("unprobed", get_unprobed, "the probes were off: it was at least that long"),
	INTEGER_FIELD("tid", get_stall_tid, "the worker's thread id"),
	CAUSE_FIELDS,
	PLACE_FIELDS,
	INTEGER_FIELD("task_id", get_task_id, "address of the task"),
	LEGITIMATE_FIELD,
	INTEGER_FIELD("cpu", get_stall_cpu, "on a CPU", .group = "states_ns"),
	WIRE_WAITS(STALL_STATE_FIELD) /* eleven */
	STACK_FIELD,
	PEERS_FIELDS,
	LIST_FIELD("parts", get_parts, part_element, &part_schema,
		   "its time by what took an eighth or more, the cause first"),
};

const struct schema stall_schema = {.name = "stall",
				    .help = "a worker that did not come back in time",
				    .version = 1,
				    SCHEMA_FIELDS(stall_fields)};

void blocked_json_stall(struct output *out, const struct stalls *stalls, const struct stall *stall)
{
	struct blamed blamed = blamed_part(stall, stall, 0);
	struct item item = {&blamed, stalls};

	emit_json_line(out, &stall_schema, &item);
}

static const struct field stuck_fields[] = {
	NUMBER_MEMBER(struct blamed, duration_ns, "duration_ns", "how long so far"),
	CAUSE_FIELDS,
	PLACE_FIELDS,
	LEGITIMATE_FIELD,
	STACK_FIELD,
};

static const struct schema stuck_schema = {.name = "stuck",
					   .help = "what a worker had not come back from",
					   SCHEMA_FIELDS(stuck_fields)};

static const struct stall_worker *worker_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_worker_tid, value_number, worker_of(item)->last.tid)

FIELD_GETTER(get_worker_comm)
{
	const struct wire_worker *last = &worker_of(item)->last;

	value_bytes(value, last->comm, sizeof(last->comm));
}

VALUE_GETTER(get_found_by, value_string, blocked_found_by(worker_of(item)->last.found_by))

/* Of a worker that polls tasks, or that takes turns of an event loop: `argument`. */
static bool takes_turns(const struct item *item)
{
	return worker_of(item)->last.kind == WIRE_SPAN_TURN;
}

FIELD_GETTER(get_spans)
{
	value_number(value, worker_of(item)->spans);
	if (takes_turns(item) != (bool)field->argument)
		value_absent(value);
}

FIELD_GETTER(get_longest)
{
	value_number(value, worker_of(item)->longest_ns);
	if (takes_turns(item) != (bool)field->argument)
		value_absent(value);
}

VALUE_GETTER(get_worker_state, value_known, worker_of(item)->states_ns[field->argument],
	     stalls_measures(item->context, wire_of_state((enum state)field->argument)))

FIELD_GETTER(get_stuck)
{
	struct stall_open open;
	struct blamed blamed;

	if (!stalls_open(item->context, worker_of(item), &open)) {
		value_null(value);
		return;
	}
	blamed = (struct blamed){.duration_ns = open.duration_ns,
				 .blame = {.cause = open.cause,
					   .site = open.site,
					   .function = open.function,
					   .type = open.type,
					   .stack = open.stack,
					   .in_place = open.in_place}};
	value_made(value, &blamed, sizeof(blamed), item->context);
}

#define WORKER_STATE_FIELD(name_, number, key_, header_, help_)                                    \
	INTEGER_FIELD(key_, get_worker_state, help_, .group = "states_ns",                         \
		      .argument = STATE_##name_),

static const struct field worker_fields[] = {
	INTEGER_FIELD("tid", get_worker_tid, "thread id"),
	STRING_FIELD("comm", get_worker_comm, "thread name"),
	STRING_FIELD("found_by", get_found_by, "type, stack, prefix, name or group"),
	INTEGER_FIELD("polls", get_spans, "of tasks", .flags = FIELD_MAYBE),
	INTEGER_FIELD("turns", get_spans, "of its event loop", .argument = true,
		      .flags = FIELD_MAYBE),
	INTEGER_FIELD("max_poll_ns", get_longest, "longest poll", .flags = FIELD_MAYBE),
	INTEGER_FIELD("max_turn_ns", get_longest, "longest turn", .argument = true,
		      .flags = FIELD_MAYBE),
	ON_CPU_STATES(WORKER_STATE_FIELD) WIRE_WAITS(WORKER_STATE_FIELD) /* thirteen */
	NUMBER_MEMBER(struct stall_worker, stalls, "stalls", "how many of these were too long"),
	OBJECT_FIELD("stuck", get_stuck, &stuck_schema,
		     "what it had not come back from at the end"),
};

const struct schema blocked_worker_schema = {
	.name = "runtime_worker", .help = "a worker of the runtime", SCHEMA_FIELDS(worker_fields)};

static const struct hotspot *hotspot_of(const struct item *item)
{
	return ((const struct blamed *)item->row)->row;
}

VALUE_GETTER(get_hotspot_count, value_number, hotspot_of(item)->count)
VALUE_GETTER(get_hotspot_total, value_number, hotspot_of(item)->total_ns)
VALUE_GETTER(get_hotspot_max, value_number, hotspot_of(item)->max_ns)

FIELD_GETTER(get_hotspot_percentile)
{
	const struct hotspot *hotspot = hotspot_of(item);

	value_number(value, histogram_percentile(hotspot->buckets, STALL_BUCKETS,
						 (double)field->argument / 100, hotspot->max_ns));
}

static const struct field hotspot_fields[] = {
	CAUSE_FIELDS,
	PLACE_FIELDS,
	INTEGER_FIELD("count", get_hotspot_count, "stalls", .header = "STALLS"),
	INTEGER_FIELD("total_ns", get_hotspot_total, "their time", .header = "TOTAL"),
	INTEGER_FIELD("max_ns", get_hotspot_max, "the longest", .header = "MAX"),
	INTEGER_FIELD("p50_ns", get_hotspot_percentile, "median, to a factor of 2", .argument = 50),
	INTEGER_FIELD("p99_ns", get_hotspot_percentile, "99th percentile, to a factor of 2",
		      .header = "P99", .argument = 99),
	LEGITIMATE_FIELD,
	STACK_FIELD,
	PEERS_FIELDS,
};

const struct schema hotspot_schema = {.name = "hotspot",
				      .help = "stalls of one function and cause",
				      SCHEMA_FIELDS(hotspot_fields)};
