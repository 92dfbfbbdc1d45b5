// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` says of sched_ext: the row is the run. docs/formats/json.md is the contract. */
#include <math.h>

#include "view/load_inside.h"

static const struct scheduler_inside *inside_of(const struct item *item)
{
	return &((const struct run *)item->row)->inside;
}

const char *load_events_unknown(const struct scheduler_inside *inside)
{
	if (inside->has_events)
		return NULL;
	return inside->in_use ? "this kernel does not count them (no root/events in "
				"/sys/kernel/sched_ext)"
			      : "no scheduler was in use";
}

/* A program: the context is the list that it is in. */
static const struct scheduler_program *program_of(const struct item *item)
{
	return item->row;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

FIELD_GETTER(get_rate)
{
	const struct scheduler_programs *programs = item->context;
	size_t number = (size_t)(program_of(item) - programs->items);

	value_real(value, ratio(1e9 * (double)program_of(item)->calls,
				(double)scheduler_programs_length(programs, number)));
}

VALUE_GETTER(get_call, value_real,
	     ratio((double)program_of(item)->ns, (double)program_of(item)->calls))

static const struct field program_fields[] = {
	ARRAY_MEMBER(struct scheduler_program, name, "name", "of its function"),
	NUMBER_MEMBER(struct scheduler_program, calls, "calls", "times that it ran"),
	REAL_FIELD("calls_per_second", get_rate, "while its scheduler was in use"),
	REAL_FIELD("ns_per_call", get_call, "mean length of a run"),
	NUMBER_MEMBER(struct scheduler_program, ns, "time_ns", "of all runs together"),
};

static const struct schema program_schema = {
	.name = "program",
	.definition = "scheduler_program",
	.help = "a BPF program of a scheduler",
	SCHEMA_FIELDS(program_fields),
};

FIELD_GETTER(get_programs)
{
	const struct scheduler_programs *programs = &inside_of(item)->programs;

	value_rows(value, programs->items, programs->count, sizeof(*programs->items), programs);
	if (programs->unknown)
		value_null(value);
}

VALUE_GETTER(get_programs_unknown, value_text, inside_of(item)->programs.unknown)

/* 0 is not known. */
static double known(double ns)
{
	return ns > 0 ? ns : NAN;
}

VALUE_GETTER(get_cost, value_real, known(inside_of(item)->programs.cost_ns))
VALUE_GETTER(get_floor, value_real, known(inside_of(item)->programs.floor_ns))

static const struct scheduler_counters *counters_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_counter)
{
	const struct counter *counter = (const void *)((const char *)item->row + field->argument);

	value_known(value, counter->value, counter->known);
}

FIELD_GETTER(get_switch_all)
{
	value_bool(value, counters_of(item)->switch_all.value);
	if (!counters_of(item)->switch_all.known)
		value_null(value);
}

static const struct field counters_fields[] = {
	ARRAY_MEMBER(struct scheduler_counters, state, "state", "of sched_ext"),
	ARRAY_MEMBER(struct scheduler_counters, ops, "ops", "name of the scheduler in use"),
	BOOL_FIELD("switch_all", get_switch_all, "it has all threads of the normal policies"),
	INTEGER_FIELD("enable_seq", get_counter, "schedulers that were enabled since boot",
		      .argument = MEMBER(struct scheduler_counters, enabled)),
	INTEGER_FIELD("nr_rejected", get_counter, "threads that schedulers refused since boot",
		      .argument = MEMBER(struct scheduler_counters, rejected)),
};

static const struct schema counters_schema = {.name = "counters",
					      .definition = "sched_ext_counters",
					      .help = "what sched_ext says of itself",
					      SCHEMA_FIELDS(counters_fields)};

VALUE_GETTER(get_before, value_object, &inside_of(item)->before, NULL)
VALUE_GETTER(get_after, value_object, &inside_of(item)->after, NULL)

FIELD_GETTER(get_events)
{
	value_elements(value, inside_of(item)->events.count);
	if (!inside_of(item)->has_events)
		value_null(value);
}

FIELD_ELEMENT(event_element)
{
	const struct scheduler_event *event = &inside_of(item)->events.items[index];

	value_number(value, scheduler_event_sum(event));
	value->name = event->name;
}

VALUE_GETTER(get_events_unknown, value_text, load_events_unknown(inside_of(item)))

/* A queue: the context is the list that it is in. */
static const struct scheduler_queue *queue_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_queue)
{
	scheduler_queue_name(value->text, sizeof(value->text), queue_of(item)->id,
			     queue_of(item)->cpu);
	value_string(value, value->text);
}

VALUE_GETTER(get_queue_id, value_known, queue_of(item)->id, !(queue_of(item)->id & QUEUE_BUILT_IN))
VALUE_GETTER(get_queue_cpu, value_known, queue_of(item)->cpu, queue_of(item)->id == QUEUE_LOCAL)
VALUE_GETTER(get_p50, value_number, scheduler_queue_depths(item->context, queue_of(item)).p50)
VALUE_GETTER(get_p99, value_number, scheduler_queue_depths(item->context, queue_of(item)).p99)
VALUE_GETTER(get_max, value_number, scheduler_queue_depths(item->context, queue_of(item)).max)

static const struct field queue_fields[] = {
	STRING_FIELD("queue", get_queue, "which"),
	INTEGER_FIELD("id", get_queue_id, "of one that the scheduler made"),
	INTEGER_FIELD("cpu", get_queue_cpu, "of a local one"),
	INTEGER_FIELD("p50", get_p50, "threads that waited in it, median of all looks"),
	INTEGER_FIELD("p99", get_p99, "99th percentile"),
	INTEGER_FIELD("max", get_max, "the largest"),
};

static const struct schema queue_schema = {.name = "queue",
					   .definition = "dispatch_queue",
					   .help = "threads that waited in a queue",
					   SCHEMA_FIELDS(queue_fields)};

FIELD_GETTER(get_queues)
{
	const struct scheduler_queues *queues = &inside_of(item)->queues;

	value_rows(value, queues->items, queues->count, sizeof(*queues->items), queues);
	if (queues->unknown)
		value_null(value);
}

VALUE_GETTER(get_queues_unknown, value_text, inside_of(item)->queues.unknown)
VALUE_GETTER(get_looks, value_known, inside_of(item)->queues.looks,
	     !inside_of(item)->queues.unknown)

static const struct field inside_fields[] = {
	LIST_FIELD("queues", get_queues, NULL, &queue_schema,
		   "dispatch queues in which threads were seen; null: not looked at"),
	STRING_FIELD("queues_unknown", get_queues_unknown, "why they were not"),
	INTEGER_FIELD("queue_looks", get_looks, "how often, ten times a second"),
	OBJECT_FIELD("before", get_before, &counters_schema, "when the workers began"),
	OBJECT_FIELD("after", get_after, &counters_schema, "before they were to stop"),
	MAP_FIELD("events", get_events, event_element, NULL,
		  "by name: how many of the kernel's events there were in the run"),
	STRING_FIELD("events_unknown", get_events_unknown, "why they are null"),
	LIST_FIELD("programs", get_programs, NULL, &program_schema,
		   "of the schedulers, in the order they were loaded; null: not timed"),
	STRING_FIELD("programs_unknown", get_programs_unknown, "why they were not"),
	REAL_FIELD("timing_cost_ns", get_cost, "what timing costs a call"),
	REAL_FIELD("timing_floor_ns", get_floor, "of this, what is in `ns_per_call`"),
};

const struct schema load_inside_schema = {.name = "sched_ext",
					  .help = "what happened inside sched_ext",
					  SCHEMA_FIELDS(inside_fields)};
