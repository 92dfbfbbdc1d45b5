// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load --sweep` measured. docs/formats/json.md is the contract. */
#include <math.h>
#include <string.h>

#include "view/sweep.h"

/* A result; a step of it; a group of a step; a curve. */
struct sweep_row {
	const struct sweep *sweep;
	const struct sweep_course *course;
};

struct group_row {
	const struct sweep *sweep;
	const struct sweep_step *step;
	const struct load_group *group;
};

static const struct sweep *sweep_of(const struct item *item)
{
	return ((const struct sweep_row *)item->row)->sweep;
}

static const struct sweep_course *course_of(const struct item *item)
{
	return ((const struct sweep_row *)item->row)->course;
}

static const struct group_row *group_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_cgroup, value_text, group_of(item)->group->key.cgroup)
VALUE_GETTER(get_group_idx, value_number, group_of(item)->group->key.group_idx)
VALUE_GETTER(get_work, value_string, group_of(item)->group->key.work)
VALUE_GETTER(get_occurrence, value_number, group_of(item)->group->key.occurrence)
VALUE_GETTER(get_background, value_bool,
	     sweep_is_background(group_of(item)->sweep, &group_of(item)->group->key))
VALUE_GETTER(get_median, value_real,
	     sweep_median(group_of(item)->step, &group_of(item)->group->key,
			  (enum load_metric)field->argument))

#define MEDIAN(metric, key, help, ...)                                                             \
	REAL_FIELD(key, get_median, help, .argument = METRIC_##metric, ##__VA_ARGS__)

static const struct field group_fields[] = {
	STRING_FIELD("cgroup", get_cgroup, "its cgroup", .header = "CGROUP"),
	INTEGER_FIELD("group_idx", get_group_idx, "number among the works of its cgroup"),
	STRING_FIELD("work", get_work, "type of work", .header = "WORK"),
	INTEGER_FIELD("occurrence", get_occurrence, "how many such groups the run had before"),
	BOOL_FIELD("background", get_background, "it is the load that the sweep has added"),
	MEDIAN(ITERATIONS, "iterations_per_second", "of all its workers", .header = "ITER/S"),
	MEDIAN(SLOWEST_WORKER, "slowest_worker", "iterations per second of the slowest worker"),
	MEDIAN(CPUS, "cpus", "CPU time of its workers per second", .header = "CPUS"),
	MEDIAN(RUN_DELAY, "run_delay_ns", "mean wait for a CPU", .header = "RUNQ"),
	MEDIAN(WAKE_MEDIAN, "wake_p50_ns", "median of wakeups", .header = "WAKE-P50"),
	MEDIAN(WAKE_P99, "wake_p99_ns", "99th percentile of wakeups", .header = "WAKE-P99"),
	MEDIAN(COST_P50, "cost_p50_ns", "median of the wall time of an iteration"),
	MEDIAN(COST_P99, "cost_p99_ns", "99th percentile of the same", .header = "COST-P99"),
	MEDIAN(MIGRATIONS, "migrations_per_second", "migrations of its workers"),
	MEDIAN(FAIRNESS, "fairness", "Jain's index of the workers' CPU times"),
};

static const struct schema group_schema = {
	.name = "swept_group",
	.help = "a group of workers at a step, medians of its runs",
	SCHEMA_FIELDS(group_fields)};

static const struct sweep_step *step_of(const struct item *item)
{
	return item->row;
}

static const struct sweep *sweep_around(const struct item *item)
{
	return item->context;
}

FIELD_GETTER(get_value_text)
{
	const struct sweep *sweep = sweep_around(item);
	char text[32];

	sweep_format(text, sizeof(text), sweep, (size_t)(step_of(item) - sweep->steps));
	value_bytes(value, text, strlen(text));
}

FIELD_GETTER(get_offered)
{
	const char *load = strrchr(sweep_around(item)->name, '.');

	load = load ? load + 1 : sweep_around(item)->name;
	value_real(value, strcmp(load, "load") != 0 ? NAN : step_of(item)->value);
}

VALUE_GETTER(get_value, value_real, step_of(item)->value)
VALUE_GETTER(get_achieved, value_real, sweep_achieved(sweep_around(item), step_of(item)))
VALUE_GETTER(get_taken, value_real, load_side_taken(&step_of(item)->side))
VALUE_GETTER(get_runs, value_number, step_of(item)->side.runs)
VALUE_GETTER(get_failed, value_number, step_of(item)->side.failed)
VALUE_GETTER(get_groups, value_elements, step_of(item)->side.group_count)

FIELD_ELEMENT(group_element)
{
	struct group_row row = {sweep_around(item), step_of(item),
				&step_of(item)->side.groups[index]};

	value_made(value, &row, sizeof(row), NULL);
}

static const struct field step_fields[] = {
	REAL_FIELD("value", get_value, "a number, ns, bytes or a share (0 to 1)",
		   .flags = FIELD_OF_ROWS),
	STRING_FIELD("text", get_value_text, "the same for people", .header = "VALUE",
		     .flags = FIELD_OF_ROWS),
	INTEGER_FIELD("runs", get_runs, "that came to their end", .header = "RUNS",
		      .flags = FIELD_OF_ROWS),
	NUMBER_MEMBER(struct sweep_step, voided, "void_runs", "that did not"),
	INTEGER_FIELD("failed", get_failed, "of the runs, by their own checks",
		      .flags = FIELD_OF_ROWS),
	REAL_FIELD("offered_load", get_offered,
		   "share of the CPUs' time that the load is to take; null: it is not varied",
		   .flags = FIELD_OF_ROWS),
	REAL_FIELD("achieved_load", get_achieved,
		   "share of the CPUs' time that all workers of the run had", .header = "LOAD",
		   .flags = FIELD_OF_ROWS),
	REAL_FIELD("taken_share", get_taken, "what others and the hypervisor had",
		   .header = "OTHERS", .flags = FIELD_OF_ROWS),
	LIST_FIELD("groups", get_groups, group_element, &group_schema, "of workers"),
};

static const struct schema step_schema = {.name = "sweep_step",
					  .help = "the runs with one value",
					  SCHEMA_FIELDS(step_fields),
					  .table = "swept_group"};

static const struct sweep_curve *curve_of(const struct item *item)
{
	return item->row;
}

static void value_step(struct value *value, const struct item *item, size_t step)
{
	if (curve_of(item)->answer == SWEEP_NOTHING || !(curve_of(item)->knee.share > 0))
		value_null(value);
	else
		value_real(value, sweep_around(item)->steps[step].value);
}

FIELD_GETTER(get_answer)
{
	static const char *const answers[] = {
		[SWEEP_NOTHING] = "nothing",
		[SWEEP_KNEE] = "knee",
		[SWEEP_NO_KNEE] = "none",
		[SWEEP_UNDECIDED] = "undecided",
	};

	value_string(value, answers[curve_of(item)->answer]);
}

FIELD_GETTER(get_at)
{
	value_step(value, item, curve_of(item)->knee.at);
	if (!curve_of(item)->knee.found)
		value_null(value);
}

VALUE_GETTER(get_curve_cgroup, value_text, curve_of(item)->key.cgroup)
VALUE_GETTER(get_curve_group_idx, value_number, curve_of(item)->key.group_idx)
VALUE_GETTER(get_curve_work, value_string, curve_of(item)->key.work)
VALUE_GETTER(get_curve_metric, value_string, load_metrics[curve_of(item)->metric].key)
VALUE_GETTER(get_first, value_step, item, curve_of(item)->knee.first)
VALUE_GETTER(get_last, value_step, item, curve_of(item)->knee.last)

static const struct field curve_fields[] = {
	STRING_FIELD("cgroup", get_curve_cgroup, "of the group"),
	INTEGER_FIELD("group_idx", get_curve_group_idx, "number among the works of its cgroup"),
	STRING_FIELD("work", get_curve_work, "type of work"),
	STRING_FIELD("metric", get_curve_metric, "what the curve is of"),
	STRING_FIELD("answer", get_answer, "knee, none, undecided, or nothing: not measured"),
	REAL_FIELD("at", get_at, "the value where the medians have their knee"),
	REAL_FIELD("first", get_first, "with 95 % confidence not before that value"),
	REAL_FIELD("last", get_last, "nor behind that one"),
	REAL_MEMBER(struct sweep_curve, knee.share, "share",
		    "of curves drawn from the runs that have a knee"),
	BOOL_MEMBER(struct sweep_curve, falls, "falls", "it is lower at the last step"),
	REAL_MEMBER(struct sweep_curve, disturbed, "disturbed",
		    "share of the CPUs' time that others had more behind the knee; 0: none to "
		    "matter"),
	REAL_MEMBER(struct sweep_curve, crowded, "crowded",
		    "share that others had of the CPUs' time, where that may be why it is "
		    "undecided; else 0"),
};

static const struct schema curve_schema = {.name = "curve",
					   .help = "a metric of a group along the steps",
					   SCHEMA_FIELDS(curve_fields)};

FIELD_GETTER(get_unit)
{
	enum param_kind kind = sweep_of(item)->kind;

	value_string(value, kind == PARAM_DURATION ? "ns"
			    : kind == PARAM_SIZE   ? "bytes"
			    : kind == PARAM_SHARE  ? "share"
						   : "number");
}

FIELD_GETTER(get_end)
{
	static const char *const ends[] = {
		[SWEEP_COMPLETE] = "complete",
		[SWEEP_INTERRUPTED] = "interrupted",
		[SWEEP_FAILED] = "failed",
	};

	value_string(value, ends[course_of(item)->end]);
}

VALUE_GETTER(get_spec, value_string, course_of(item)->spec)
VALUE_GETTER(get_parameter, value_string, sweep_of(item)->name)
VALUE_GETTER(get_cpus, value_number, sweep_of(item)->cpus)
VALUE_GETTER(get_seed, value_number, course_of(item)->seed)
VALUE_GETTER(get_rounds, value_number, course_of(item)->rounds_wanted)
VALUE_GETTER(get_all_runs, value_number, course_of(item)->runs)
VALUE_GETTER(get_elapsed, value_number, course_of(item)->elapsed_ns)
VALUE_GETTER(get_steps, value_rows, sweep_of(item)->steps, sweep_of(item)->count,
	     sizeof(struct sweep_step), sweep_of(item))
VALUE_GETTER(get_curves, value_rows, sweep_of(item)->curves, sweep_of(item)->curve_count,
	     sizeof(struct sweep_curve), sweep_of(item))

static const struct field sweep_fields[] = {
	STRING_FIELD("name", get_spec, "of the spec"),
	STRING_FIELD("parameter", get_parameter, "what is varied"),
	STRING_FIELD("unit", get_unit, "of its values: ns, bytes, share or number"),
	INTEGER_FIELD("cpus", get_cpus, "that dwell may use: loads are shares of them"),
	INTEGER_FIELD("seed", get_seed, "of the first round; each other has the next one"),
	INTEGER_FIELD("rounds", get_rounds, "how often each step was to run"),
	INTEGER_FIELD("runs", get_all_runs, "that came to their end"),
	INTEGER_FIELD("elapsed_ns", get_elapsed, "for all of them"),
	STRING_FIELD("end", get_end, "complete, interrupted or failed"),
	LIST_FIELD("curves", get_curves, NULL, &curve_schema, "where they bend"),
	LIST_FIELD("steps", get_steps, NULL, &step_schema, "in the order of the values"),
};

const struct schema sweep_schema = {.name = "sweep",
				    .help = "a load with several values of one of its numbers",
				    .version = 1,
				    SCHEMA_FIELDS(sweep_fields),
				    .table = "sweep_step"};

void sweep_emit(const struct emit *emit, const struct sweep *sweep,
		const struct sweep_course *course)
{
	struct sweep_row row = {sweep, course};
	struct item item = {&row, NULL};

	emit_result(emit, &item);
}
