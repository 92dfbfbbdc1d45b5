// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `dwell load` says of the phases of a run: the row is the struct run_phase, the context the
 * outcome. docs/formats/json.md is the contract.
 */
#include <math.h>

#include "view/load_phases.h"
#include "view/load_values.h"

/* A group in a phase: the row is its summary there. */
static const struct summary *summary_of(const struct item *item)
{
	return item->row;
}

static size_t number_of(const struct item *item)
{
	const struct outcome *outcome = item->context;

	return (size_t)(summary_of(item) - outcome->phase_summaries) %
	       outcome->run->worker_group_count;
}

static const struct run_group *group_of(const struct item *item)
{
	const struct outcome *outcome = item->context;

	return outcome->run->worker_groups[number_of(item)];
}

VALUE_GETTER(get_group, value_number, number_of(item))
VALUE_GETTER(get_cgroup, value_text, group_of(item)->cgroup)
VALUE_GETTER(get_group_idx, value_number, group_of(item)->group.group_idx)
VALUE_GETTER(get_work, value_string, group_of(item)->group.work->type->name)

FIELD_GETTER(get_of_schedstats)
{
	get_u64_member(field, item, value);
	if (!summary_of(item)->schedstats)
		value_null(value);
}

VALUE_GETTER(get_rate, value_real, summary_of(item)->timed ? summary_of(item)->iteration_rate : NAN)
VALUE_GETTER(get_migrations, value_known, summary_of(item)->migrations, summary_of(item)->looked)
VALUE_GETTER(get_gap, value_known, summary_of(item)->max_gap_ns / 1000000, summary_of(item)->looked)
VALUE_GETTER(get_gap_tid, value_known, summary_of(item)->max_gap_tid, summary_of(item)->looked)
VALUE_GETTER(get_samples, value_samples, &summary_of(item)->samples[field->argument])

FIELD_GETTER(get_fairness)
{
	const struct summary *summary = summary_of(item);

	/* of some of the workers it would be another figure */
	value_real(value,
		   summary->schedstats == summary->completed ? summary_fairness(summary) : NAN);
}

#define STREAM_FIELD(name_, key_, total_key, all_key, help_)                                       \
	OBJECT_FIELD(key_, get_samples, &sample_schema, help_, .argument = SAMPLES_##name_),

static const struct field group_fields[] = {
	INTEGER_FIELD("group", get_group, "its place in the run's groups"),
	STRING_FIELD("cgroup", get_cgroup, "its cgroup"),
	INTEGER_FIELD("group_idx", get_group_idx, "number among the works of its cgroup"),
	STRING_FIELD("work", get_work, "type of work"),
	NUMBER_MEMBER(struct summary, workers, "workers", "that were there"),
	NUMBER_MEMBER(struct summary, completed, "completed",
		      "those that reported; what follows is of them"),
	NUMBER_MEMBER(struct summary, iterations, "iterations", "outer iterations"),
	REAL_FIELD("iterations_per_second", get_rate, "sum of the workers' rates"),
	REAL_MEMBER(struct summary, slowest, "slowest_worker", "the least rate"),
	REAL_MEMBER(struct summary, fastest, "fastest_worker", "the largest rate"),
	INTEGER_FIELD("cpu_time_ns", get_of_schedstats, "CPU time by the kernel",
		      .argument = MEMBER(struct summary, cpu_ns)),
	NUMBER_MEMBER(struct summary, wall_ns, "wall_time_ns", "length of the work, summed up"),
	INTEGER_FIELD("run_delay_ns", get_of_schedstats, "waits for a CPU by the kernel",
		      .argument = MEMBER(struct summary, run_delay_ns)),
	INTEGER_FIELD("run_count", get_of_schedstats, "times they got a CPU",
		      .argument = MEMBER(struct summary, run_count)),
	INTEGER_FIELD("migration_count", get_migrations, "moves to another CPU"),
	REAL_FIELD("fairness", get_fairness, "Jain's index of the workers' CPU times"),
	INTEGER_FIELD("max_gap_ms", get_gap, "longest part of a gap that lies in the phase"),
	INTEGER_FIELD("max_gap_tid", get_gap_tid, "whose"),
	STREAMS(STREAM_FIELD) /* three */
};

static const struct schema group_schema = {.name = "group",
					   .definition = "phase_group",
					   .help = "a group in a phase",
					   SCHEMA_FIELDS(group_fields)};

static const struct run_phase *phase_of(const struct item *item)
{
	return item->row;
}

static size_t phase_number_of(const struct item *item)
{
	return (size_t)(phase_of(item) - ((const struct outcome *)item->context)->run->held);
}

static const struct spec_phase *spec_of(const struct item *item)
{
	const struct outcome *outcome = item->context;

	return &outcome->run->spec->phases.items[phase_number_of(item)];
}

VALUE_GETTER(get_phase, value_number, phase_number_of(item) + 1)
VALUE_GETTER(get_began, value_number,
	     phase_of(item)->began_ns - ((const struct outcome *)item->context)->run->started_ns)
VALUE_GETTER(get_hold, value_number, phase_of(item)->ended_ns - phase_of(item)->began_ns)
VALUE_GETTER(get_ops, value_elements, spec_of(item)->op_count)

FIELD_ELEMENT(op_element)
{
	spec_format_op(value->text, sizeof(value->text), &spec_of(item)->ops[index]);
	value_string(value, value->text);
}

VALUE_GETTER(get_groups, value_elements,
	     ((const struct outcome *)item->context)->run->worker_group_count)

FIELD_ELEMENT(group_element)
{
	const struct outcome *outcome = item->context;
	const struct summary *summary = phase_group(outcome, phase_number_of(item), index);

	value_object(value, summary, outcome);
	if (!summary->workers)
		value_absent(value);
}

static const struct field phase_fields[] = {
	INTEGER_FIELD("phase", get_phase, "its number, from 1 on"),
	INTEGER_FIELD("began_ns", get_began, "when its ops were done, since the start"),
	INTEGER_FIELD("hold_ns", get_hold, "from then on, measured"),
	ARRAY_MEMBER(struct run_phase, sched_ext, "sched_ext", "scheduler in use at its end"),
	LIST_FIELD("ops", get_ops, op_element, NULL, "what was done before it"),
	LIST_FIELD("groups", get_groups, group_element, &group_schema, "those that were there"),
};

const struct schema load_phase_schema = {
	.name = "phase", .help = "the hold of a phase", SCHEMA_FIELDS(phase_fields)};
