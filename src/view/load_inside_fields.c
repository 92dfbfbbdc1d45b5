// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` says of sched_ext: the row is the run. docs/formats/json.md is the contract. */
#include <math.h>

#include "view/load_inside.h"

static const struct scheduler_inside *inside_of(const struct item *item)
{
	return &((const struct run *)item->row)->inside;
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

static const struct field inside_fields[] = {
	LIST_FIELD("programs", get_programs, NULL, &program_schema,
		   "of the schedulers, in the order they were loaded; null: not timed"),
	STRING_FIELD("programs_unknown", get_programs_unknown, "why they were not"),
	REAL_FIELD("timing_cost_ns", get_cost, "what timing costs a call"),
	REAL_FIELD("timing_floor_ns", get_floor, "of this, what is in `ns_per_call`"),
};

const struct schema load_inside_schema = {.name = "sched_ext",
					  .help = "what happened inside sched_ext",
					  SCHEMA_FIELDS(inside_fields)};
