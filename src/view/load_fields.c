// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` says of a run: the row is the outcome. docs/formats/json.md is the contract. */
#include <errno.h>
#include <string.h>

#include "version.h"
#include "view/load_rows.h"
#include "view/load.h"
#include "view/load_inside.h"
#include "view/load_phases.h"
#include "view/load_values.h"
#include "view/view.h"

static const struct field machine_fields[] = {
	ARRAY_MEMBER(struct machine, kernel, "kernel", "release"),
	ARRAY_MEMBER(struct machine, version, "kernel_version", "version"),
	ARRAY_MEMBER(struct machine, architecture, "architecture", "of the CPU"),
	ARRAY_MEMBER(struct machine, cpu_model, "cpu_model", "its name"),
	NUMBER_MEMBER(struct machine, cpus, "cpus", "that dwell may use"),
	NUMBER_MEMBER(struct machine, cores, "cores", "these are in"),
	NUMBER_MEMBER(struct machine, llcs, "llcs", "last-level caches"),
	NUMBER_MEMBER(struct machine, nodes, "nodes", "NUMA nodes"),
	NUMBER_MEMBER(struct machine, memory_bytes, "memory_bytes", "memory"),
	ARRAY_MEMBER(struct machine, governor, "governor", "of CPU 0's frequency"),
	ARRAY_MEMBER(struct machine, scheduler, "sched_ext", "scheduler that was in use"),
};

static const struct schema machine_schema = {
	.name = "machine", .help = "where it ran", SCHEMA_FIELDS(machine_fields)};

static const struct run *run_of(const struct item *item)
{
	return ((const struct outcome *)item->row)->run;
}

static const struct scheduler *scheduler_of(const struct item *item)
{
	return &run_of(item)->scheduler;
}

VALUE_GETTER(get_scheduler_name, value_text, scheduler_of(item)->name)
VALUE_GETTER(get_scheduler_command, value_text, scheduler_of(item)->command)

FIELD_GETTER(get_scheduler_state)
{
	static const char *const states[] = {
		[SCHEDULER_ALIVE] = "alive",
		[SCHEDULER_STOPPED] = "stopped",
		[SCHEDULER_DIED] = "died",
	};

	value_string(value, states[scheduler_of(item)->state]);
}

FIELD_GETTER(get_scheduler_ended)
{
	uint64_t started_ns = run_of(item)->started_ns, ended_ns = scheduler_of(item)->ended_ns;

	value_known(value, ended_ns - started_ns, ended_ns > started_ns);
}

VALUE_GETTER(get_scheduler_reason, value_text, scheduler_of(item)->reason)

static const struct field scheduler_fields[] = {
	STRING_FIELD("name", get_scheduler_name, "in the kernel"),
	STRING_FIELD("command", get_scheduler_command, "null: not started here"),
	STRING_FIELD("state", get_scheduler_state, "alive, stopped or died"),
	INTEGER_FIELD("ended_at_ns", get_scheduler_ended, "since the start"),
	STRING_FIELD("reason", get_scheduler_reason, "of its death"),
};

static const struct schema scheduler_schema = {
	.name = "scheduler", .help = "the sched_ext scheduler", SCHEMA_FIELDS(scheduler_fields)};

FIELD_GETTER(get_scheduler)
{
	get_same_row(field, item, value);
	if (scheduler_of(item)->state == SCHEDULER_NONE)
		value_null(value);
}

FIELD_GETTER(get_inside)
{
	value_object(value, run_of(item), NULL);
	if (!run_of(item)->inside.exists)
		value_null(value);
}

static const struct check_result *check_result_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_check, value_string, check_result_of(item)->check->key)
VALUE_GETTER(get_check_verdict, value_string, verdict_names[check_result_of(item)->verdict])

FIELD_GETTER(get_check_cgroup)
{
	const struct run_group *worker_group = check_result_of(item)->worker_group;

	if (worker_group)
		value_text(value, worker_group->cgroup);
	else
		value_absent(value);
}

FIELD_GETTER(get_check_group)
{
	const struct run_group *worker_group = check_result_of(item)->worker_group;

	if (worker_group)
		value_number(value, worker_group->group.group_idx);
	else
		value_absent(value);
}

FIELD_GETTER(get_check_work)
{
	const struct run_group *worker_group = check_result_of(item)->worker_group;

	if (worker_group)
		value_string(value, worker_group->group.work->type->name);
	else
		value_absent(value);
}

FIELD_GETTER(get_check_tid)
{
	value_number(value, check_result_of(item)->tid);
	if (!check_result_of(item)->tid)
		value_absent(value);
}

VALUE_GETTER(get_check_text, value_string, check_result_of(item)->text)

static const struct field check_fields[] = {
	STRING_FIELD("check", get_check, "its name"),
	STRING_FIELD("verdict", get_check_verdict, "pass, fail, inconclusive or skip"),
	STRING_FIELD("cgroup", get_check_cgroup, "of the group", .flags = FIELD_MAYBE),
	INTEGER_FIELD("group_idx", get_check_group, "of the group", .flags = FIELD_MAYBE),
	STRING_FIELD("work", get_check_work, "of the group", .flags = FIELD_MAYBE),
	INTEGER_FIELD("tid", get_check_tid, "the worker, where one failed", .flags = FIELD_MAYBE),
	REAL_MEMBER(struct check_result, value, "figure", "in ns, shares or plain numbers"),
	REAL_MEMBER(struct check_result, limit, "limit", "that it had to keep"),
	STRING_FIELD("text", get_check_text, "the same for people"),
};

const struct schema load_check_schema = {
	.name = "check", .help = "what was judged", SCHEMA_FIELDS(check_fields)};

static const struct field event_fields[] = {
	NUMBER_MEMBER(struct run_event, at_ns, "at_ns", "since the start"),
	STRING_FIELD("event", get_array_member, "what happened",
		     .argument = MEMBER(struct run_event, text)),
};

static const struct schema event_schema = {
	.name = "event", .help = "phases, ops and stuck workers", SCHEMA_FIELDS(event_fields)};

VALUE_GETTER(get_run_name, value_string, run_of(item)->spec->name)
VALUE_GETTER(get_version, value_string, DWELL_VERSION)
VALUE_GETTER(get_seed, value_number, run_of(item)->spec->seed)
VALUE_GETTER(get_seed_given, value_bool, run_of(item)->spec->seed_given)

FIELD_GETTER(get_started)
{
	view_format_time(value->text, run_of(item)->started_realtime_ns);
	value_string(value, value->text);
}

VALUE_GETTER(get_elapsed, value_number, run_of(item)->stopped_ns - run_of(item)->started_ns)

FIELD_GETTER(get_run_u64)
{
	struct item run = {run_of(item), NULL};

	get_u64_member(field, &run, value);
}

FIELD_GETTER(get_end)
{
	static const char *const ends[] = {
		[RUN_COMPLETE] = "complete",
		[RUN_INTERRUPTED] = "interrupted",
		[RUN_SCHEDULER_DIED] = "scheduler-died",
	};

	value_string(value, ends[run_of(item)->end]);
}

VALUE_GETTER(get_groups, value_elements, run_of(item)->worker_group_count)

FIELD_ELEMENT(group_element)
{
	const struct outcome *outcome = item->row;
	struct group_row group = {.outcome = outcome,
				  .run = outcome->run,
				  .number = index,
				  .worker_group = outcome->run->worker_groups[index],
				  .summary = &outcome->summaries[index],
				  .scratch = *(struct output *const *)item->context};

	value_made(value, &group, sizeof(group), NULL);
}

VALUE_GETTER(get_evidence, value_text,
	     run_of(item)->evidence_count ? run_of(item)->evidence.buffer : NULL)
VALUE_GETTER(get_trace, value_text, ((const struct outcome *)item->row)->trace)
VALUE_GETTER(get_phases, value_rows, run_of(item)->held, run_of(item)->held_count,
	     sizeof(struct run_phase), item->row)
VALUE_GETTER(get_events, value_rows, run_of(item)->events, run_of(item)->event_count,
	     sizeof(struct run_event), NULL)

FIELD_GETTER(get_machine_stolen)
{
	const struct outcome *outcome = item->row;

	value_known(value, outcome->pressure.stolen_ns, outcome->has_steal_clock);
}

FIELD_GETTER(get_machine_busy)
{
	const struct outcome *outcome = item->row;

	value_known(value, outcome->pressure.busy_ns, outcome->has_steal_clock);
}

/* The row is a struct pressure. */
FIELD_GETTER(get_waiting)
{
	const struct pressure *pressure = item->row;

	value_known(value, pressure->waiting_ns, pressure->has_waiting);
}

VALUE_GETTER(get_taken, value_real, pressure_taken(item->row))

static const struct field pressure_fields[] = {
	NUMBER_MEMBER(struct pressure, cpu_ns, "cpus_ns", "time of all CPUs that are on"),
	NUMBER_MEMBER(struct pressure, own_ns, "own_ns", "CPU time of workers and dwell"),
	NUMBER_MEMBER(struct pressure, others_ns, "others_ns", "of all others"),
	SHARE_FIELD("taken_share", get_taken, "what others and the hypervisor had of cpus_ns"),
	INTEGER_FIELD("waiting_ns", get_waiting,
		      "in which some thread of the machine waited for a CPU (PSI)"),
	NUMBER_MEMBER(struct pressure, throttled_ns, "throttled_ns",
		      "in which a CPU limit around dwell held it up, of all CPUs together"),
};

static const struct schema pressure_schema = {
	.name = "pressure", .help = "what others did to the run", SCHEMA_FIELDS(pressure_fields)};

FIELD_GETTER(get_pressure)
{
	const struct outcome *outcome = item->row;

	value_object(value, &outcome->pressure, NULL);
	if (!outcome->pressure.measured)
		value_null(value);
}

FIELD_GETTER(get_observed_lost)
{
	const struct outcome *outcome = item->row;

	value_number(value, outcome->observed_lost);
	if (!outcome->observed)
		value_absent(value);
}

FIELD_GETTER(get_checks)
{
	const struct outcome *outcome = item->row;

	value_rows(value, outcome->check_results.items, outcome->check_results.count,
		   sizeof(struct check_result), NULL);
}

FIELD_GETTER(get_verdict)
{
	const struct outcome *outcome = item->row;

	value_string(value, verdict_names[outcome->check_results.verdict]);
}

VALUE_GETTER(get_machine, value_object, &((const struct outcome *)item->row)->machine, NULL)

#define RUN_U64(member, key_, help_)                                                               \
	INTEGER_FIELD(key_, get_run_u64, help_, .argument = MEMBER(struct run, member))

static const struct field load_fields[] = {
	STRING_FIELD("name", get_run_name, "of the spec", .flags = FIELD_OF_ROWS),
	STRING_FIELD("dwell", get_version, "version"),
	INTEGER_FIELD("seed", get_seed, "repeats the run's random choices with --seed",
		      .flags = FIELD_OF_ROWS),
	BOOL_FIELD("seed_given", get_seed_given, "by --seed or the spec; else it was drawn"),
	STRING_FIELD("started", get_started, "when the workers began, UTC", .flags = FIELD_OF_ROWS),
	RUN_U64(hold_ns, "planned_ns", "length by the spec"),
	INTEGER_FIELD("elapsed_ns", get_elapsed, "from the start until all had reported"),
	RUN_U64(start_ns, "start_ns", "to fork, place and start the first workers"),
	RUN_U64(stop_ns, "stop_ns", "to stop, gather and reap the last ones"),
	STRING_FIELD("end", get_end, "complete, interrupted or scheduler-died",
		     .flags = FIELD_OF_ROWS),
	OBJECT_FIELD("machine", get_machine, &machine_schema, "where it ran"),
	LIST_FIELD("groups", get_groups, group_element, &load_group_schema,
		   "in the order they were started"),
	LIST_FIELD("phases", get_phases, NULL, &load_phase_schema,
		   "each for itself, where there are several"),
	LIST_FIELD("events", get_events, NULL, &event_schema, "phases, ops and stuck workers"),
	STRING_FIELD("evidence", get_evidence,
		     "what was seen of stuck workers; null: there were none"),
	STRING_FIELD("trace", get_trace,
		     "file with what threads did around the failure; null: none was kept"),
	OBJECT_FIELD("scheduler", get_scheduler, &scheduler_schema, "the sched_ext scheduler"),
	OBJECT_FIELD("sched_ext", get_inside, &load_inside_schema,
		     "what happened inside; null: this kernel has none"),
	RUN_U64(alarms, "scheduler_alarms", "SIGUSR2s to it, without those that workers report"),
	INTEGER_FIELD("machine_stolen_ns", get_machine_stolen,
		      "what the hypervisor took from all CPUs"),
	INTEGER_FIELD("machine_busy_ns", get_machine_busy, "busy and stolen time of all CPUs"),
	OBJECT_FIELD("pressure", get_pressure, &pressure_schema, "what others did meanwhile"),
	INTEGER_FIELD("observed_lost", get_observed_lost,
		      "with --observe: switches and wakeups not seen", .flags = FIELD_MAYBE),
	LIST_FIELD("checks", get_checks, NULL, &load_check_schema,
		   "what was judged, group by group"),
	STRING_FIELD("verdict", get_verdict, "the worst of them", .flags = FIELD_OF_ROWS),
};

const struct schema load_schema = {.name = "load",
				   .help = "a run of `dwell load`",
				   .version = 1,
				   SCHEMA_FIELDS(load_fields),
				   .table = "group"};

/* With a buffer for what is put together for the moment. */
static int emit_run(const struct emit *emit, const struct outcome *outcome)
{
	struct output scratch, *context = &scratch;
	struct item item = {outcome, &context};
	int error;

	if (output_init(&scratch, -1) < 0)
		return -ENOMEM;
	emit_result(emit, &item);
	error = scratch.error;
	output_release(&scratch);
	return error ? -ENOMEM : 0;
}

int load_emit(const struct emit *emit, const struct outcome *outcome, bool samples)
{
	bool with_workers = emit->format == &format_json;
	int result = 0;

	for (size_t i = 0; with_workers && i < outcome->run->worker_group_count; i++) {
		const struct run_group *worker_group = outcome->run->worker_groups[i];

		for (unsigned int k = 0; result >= 0 && k < worker_group->worker_group.forked; k++)
			result = load_write_worker(emit->out, outcome, worker_group, k, samples);
	}
	return result < 0 ? result : emit_run(emit, outcome);
}

void load_json(struct output *out, const struct outcome *outcome, bool samples)
{
	struct emit emit = {
		.format = &format_json, .schema = &load_schema, .levels = ~0U, .out = out};

	if (load_emit(&emit, outcome, samples) < 0)
		output_fail(out, ENOMEM);
}
