// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` says of a worker. docs/formats/json.md is the contract. */
#include <errno.h>
#include <string.h>

#include "view/load_rows.h"
#include "model/state.h"
#include "view/load.h"
#include "view/load_values.h"
#include "view/view.h"

struct worker_row {
	const struct outcome *outcome;
	const struct run_group *worker_group;
	unsigned int number;
	bool samples;			    /* all of them, not only their summary */
	const struct worker_report *report; /* NULL: it left none */
	struct sample_summary summaries[SAMPLES_STREAMS];
};

static const struct worker_row *worker_of(const struct item *item)
{
	return item->row;
}

static const struct group_worker *group_worker_of(const struct item *item)
{
	return &worker_of(item)->worker_group->worker_group.workers[worker_of(item)->number];
}

/* For the getters of members: the report as the row. */
static struct item report_of(const struct item *item)
{
	return (struct item){worker_of(item)->report, NULL};
}

FIELD_GETTER(get_report_u64)
{
	struct item report = report_of(item);

	get_u64_member(field, &report, value);
}

FIELD_GETTER(get_report_u32)
{
	struct item report = report_of(item);

	get_u32_member(field, &report, value);
}

FIELD_GETTER(get_report_text)
{
	struct item report = report_of(item);

	get_array_member(field, &report, value);
}

/* What is known only of one that looked at the clock. */
FIELD_GETTER(get_looked_u64)
{
	get_report_u64(field, item, value);
	if (!worker_of(item)->report->looks)
		value_null(value);
}

FIELD_GETTER(get_looked_u32)
{
	get_report_u32(field, item, value);
	if (!worker_of(item)->report->looks)
		value_null(value);
}

FIELD_GETTER(get_looked_ms)
{
	get_looked_u64(field, item, value);
	value->number /= 1000000;
}

VALUE_GETTER(get_worker_cgroup, value_text, worker_of(item)->worker_group->cgroup)
VALUE_GETTER(get_worker_group, value_number, worker_of(item)->worker_group->group.group_idx)
VALUE_GETTER(get_worker_work, value_string, worker_of(item)->worker_group->group.work->type->name)
VALUE_GETTER(get_index, value_number,
	     worker_of(item)->worker_group->first_index + worker_of(item)->number)

static unsigned int position_of(const struct worker_row *worker)
{
	return worker->number % worker->worker_group->group.team_size;
}

VALUE_GETTER(get_position, value_number, position_of(worker_of(item)))

FIELD_GETTER(get_is_messenger)
{
	const struct worker_row *worker = worker_of(item);
	const struct spec_work *work = worker->worker_group->group.work;

	value_bool(value, work_is_messenger(work->type, work->params, position_of(worker)));
}

FIELD_GETTER(get_tid)
{
	const struct worker_row *worker = worker_of(item);

	value_number(value, worker->report ? worker->report->tid
					   : shared_slot(&worker->worker_group->worker_group.shared,
							 worker->number)
						     ->tid);
}

VALUE_GETTER(get_completed, value_bool, worker_of(item)->report != NULL)

FIELD_GETTER(get_exit_kind)
{
	static const char *const kinds[] = {[EXIT_REPORTED] = "exited",
					    [EXIT_EXITED] = "exited",
					    [EXIT_SIGNALED] = "signaled",
					    [EXIT_TIMED_OUT] = "timed_out",
					    [EXIT_WAIT_FAILED] = "wait_failed"};

	value_string(value, kinds[group_worker_of(item)->exit]);
}

/* Of the kind in `argument`. */
FIELD_GETTER(get_exit_number)
{
	const struct group_worker *worker = group_worker_of(item);

	value_signed(value, worker->exit_code);
	if (worker->exit != (enum exit_kind)field->argument)
		value_absent(value);
}

FIELD_GETTER(get_exit_error)
{
	const struct group_worker *worker = group_worker_of(item);

	value_string(value, strerror(worker->exit_code));
	if (worker->exit != EXIT_WAIT_FAILED)
		value_absent(value);
}

static const struct field exit_fields[] = {
	STRING_FIELD("kind", get_exit_kind, "exited, signaled, timed_out or wait_failed"),
	SIGNED_FIELD("code", get_exit_number, "exit status", .argument = EXIT_EXITED,
		     .flags = FIELD_MAYBE),
	SIGNED_FIELD("signal", get_exit_number, "that ended it", .argument = EXIT_SIGNALED,
		     .flags = FIELD_MAYBE),
	STRING_FIELD("error", get_exit_error, "of waiting for it", .flags = FIELD_MAYBE),
};

static const struct schema exit_schema = {
	.name = "exit_info", .help = "how it ended without a report", SCHEMA_FIELDS(exit_fields)};

FIELD_GETTER(get_exit)
{
	if (group_worker_of(item)->exit == EXIT_REPORTED)
		value_null(value);
	else
		value_object(value, item->row, NULL);
}

VALUE_GETTER(get_off_cpu, value_number, report_off_cpu_ns(worker_of(item)->report))
VALUE_GETTER(get_report_cpus, value_cpus, &worker_of(item)->report->cpus_used)

FIELD_ELEMENT(report_cpu)
{
	value_cpu(value, &worker_of(item)->report->cpus_used, index);
}

static const struct field migration_fields[] = {
	NUMBER_MEMBER(struct report_migration, at_ns, "at_ns", "since its work began"),
	NUMBER_MEMBER(struct report_migration, from_cpu, "from_cpu", "where it was"),
	NUMBER_MEMBER(struct report_migration, to_cpu, "to_cpu", "where it was then"),
};

static const struct schema migration_schema = {
	.name = "migration", .help = "a move to another CPU", SCHEMA_FIELDS(migration_fields)};

VALUE_GETTER(get_migrations, value_rows, worker_group_migrations(group_worker_of(item)),
	     worker_of(item)->report->migrations_kept, sizeof(struct report_migration), NULL)

FIELD_GETTER(get_schedstat)
{
	const struct worker_report *report = worker_of(item)->report;

	value_known(value, report->schedstat[field->argument], report->schedstat_measured);
}

FIELD_GETTER(get_report_pages)
{
	value_elements(value, REPORT_NODES);
	if (!worker_of(item)->report->numa_measured)
		value_null(value);
}

FIELD_ELEMENT(report_pages)
{
	value_node(value, worker_of(item)->report->numa_pages, index);
}

FIELD_GETTER(get_numa_migrated)
{
	const struct worker_group *worker_group = &worker_of(item)->worker_group->worker_group;

	value_known(value, worker_group->numa_migrated, worker_group->numa_migrated_measured);
}

VALUE_GETTER(get_sample_total, value_number,
	     worker_of(item)->report->sample_totals[field->argument])
VALUE_GETTER(get_worker_samples, value_samples, &worker_of(item)->summaries[field->argument])

static struct sample_set samples_of(const struct worker_row *worker, size_t stream,
				    unsigned int part)
{
	return shared_sample_set(&worker->worker_group->worker_group.shared, worker->number,
				 (enum report_samples)stream, part);
}

FIELD_GETTER(get_all_samples)
{
	const struct worker_row *worker = worker_of(item);

	value_elements(value, worker->summaries[field->argument].count);
	if (!worker->samples)
		value_absent(value);
}

FIELD_ELEMENT(sample_element)
{
	struct sample_set set = samples_of(worker_of(item), field->argument, 0);

	/* as many as there are in all parts together */
	for (unsigned int part = 1; index >= set.count; part++) {
		index -= set.count;
		set = samples_of(worker_of(item), field->argument, part);
	}
	value_number(value, set.values[index]);
}

VALUE_GETTER(get_program_ended, value_bool, worker_of(item)->report->program_ended)

FIELD_GETTER(get_program_signal)
{
	int status = worker_of(item)->report->program_status;

	value_signed(value, status & 0x7f);
	if (!(status & 0x7f))
		value_absent(value);
}

FIELD_GETTER(get_program_code)
{
	int status = worker_of(item)->report->program_status;

	value_signed(value, status >> 8);
	if (status & 0x7f)
		value_absent(value);
}

#define OF_PROGRAM(member, key_, help_)                                                            \
	INTEGER_FIELD(key_, get_report_u64, help_, .argument = MEMBER(struct worker_report, member))

static const struct field program_fields[] = {
	BOOL_FIELD("ended_by_itself", get_program_ended, "before the run was over"),
	SIGNED_FIELD("signal", get_program_signal, "that ended it", .flags = FIELD_MAYBE),
	SIGNED_FIELD("code", get_program_code, "exit status", .flags = FIELD_MAYBE),
	OF_PROGRAM(program_user_ns, "user_ns", "CPU time"),
	OF_PROGRAM(program_system_ns, "system_ns", "CPU time in the kernel"),
	OF_PROGRAM(program_rss_bytes, "max_rss_bytes", "largest resident set"),
};

static const struct schema program_schema = {
	.name = "program", .help = "what `exec` ran", SCHEMA_FIELDS(program_fields)};

FIELD_GETTER(get_program)
{
	if (worker_of(item)->report->program_status < 0)
		value_absent(value);
	else
		value_object(value, item->row, NULL);
}

/* States, of what `--observe` saw: the context is the outcome. */
FIELD_GETTER(get_observed_state)
{
	const struct observed *observed = item->row;
	const struct outcome *outcome = item->context;

	value_known(value, observed->states_ns[field->argument],
		    outcome->observed_states & 1U << field->argument);
}

#define OBSERVED_STATE_FIELD(name_, number, key_, header_, help_)                                  \
	INTEGER_FIELD(key_, get_observed_state, help_, .group = "states_ns",                       \
		      .argument = STATE_##name_),

static const struct field observed_fields[] = {
	NUMBER_MEMBER(struct observed, observed_ns, "observed_ns", "sum of the states"),
	ON_CPU_STATES(OBSERVED_STATE_FIELD) WIRE_WAITS(OBSERVED_STATE_FIELD) /* thirteen */
};

static const struct schema observed_schema = {.name = "observed",
					      .help = "its states, seen from outside",
					      SCHEMA_FIELDS(observed_fields)};

FIELD_GETTER(get_observed)
{
	const struct worker_row *worker = worker_of(item);
	const struct observed *observed = worker->outcome->observed;

	if (!observed) {
		value_absent(value);
		return;
	}
	observed += worker->worker_group->first_index + worker->number;
	value_object(value, observed, worker->outcome);
	if (!observed->measured)
		value_null(value);
}

#define REPORT_TEXT_FIELD(member, key_, help_)                                                     \
	STRING_FIELD(key_, get_report_text, help_,                                                 \
		     .argument = MEMBER(struct worker_report, member), OF_REPORT)

#define OF_REPORT .needs = true, .flags = FIELD_MAYBE

#define STREAM_TOTAL_FIELDS(name_, key_, total_key, all_key, help_)                                \
	INTEGER_FIELD(total_key, get_sample_total, "samples there were: " help_,                   \
		      .argument = SAMPLES_##name_, OF_REPORT),                                     \
		OBJECT_FIELD(key_, get_worker_samples, &sample_schema, help_,                      \
			     .argument = SAMPLES_##name_, OF_REPORT),                              \
		LIST_FIELD(all_key, get_all_samples, sample_element, NULL,                         \
			   "with --samples: all of them", .argument = SAMPLES_##name_, OF_REPORT),

#define OF_REPORT_U64(member, key_, help_)                                                         \
	INTEGER_FIELD(key_, get_report_u64, help_,                                                 \
		      .argument = MEMBER(struct worker_report, member), OF_REPORT)

static const struct field worker_fields[] = {
	STRING_FIELD("cgroup", get_worker_cgroup, "of its group"),
	INTEGER_FIELD("group_idx", get_worker_group, "number among the works of its cgroup"),
	STRING_FIELD("work", get_worker_work, "type of work"),
	INTEGER_FIELD("index", get_index, "number among all workers"),
	INTEGER_FIELD("position", get_position, "in its team"),
	BOOL_FIELD("is_messenger", get_is_messenger, "it wakes the others of its team"),
	INTEGER_FIELD("tid", get_tid, "thread id"),
	BOOL_FIELD("completed", get_completed, "it reported"),
	OBJECT_FIELD("exit_info", get_exit, &exit_schema, "how it ended without a report"),
	OF_REPORT_U64(work_units, "work_units", "units of work"),
	OF_REPORT_U64(iterations, "iterations", "outer iterations"),
	OF_REPORT_U64(cpu_time_ns, "cpu_time_ns", "CPU time over the work"),
	OF_REPORT_U64(wall_time_ns, "wall_time_ns", "length of the work"),
	INTEGER_FIELD("off_cpu_ns", get_off_cpu, "what of that is not CPU time", OF_REPORT),
	OF_REPORT_U64(paused_ns, "paused_ns", "of it, frozen by an op"),
	LIST_FIELD("cpus_used", get_report_cpus, report_cpu, NULL, "CPUs it was seen on",
		   OF_REPORT),
	INTEGER_FIELD("migration_count", get_looked_u64, "moves to another CPU",
		      .argument = MEMBER(struct worker_report, migration_count), OF_REPORT),
	LIST_FIELD("migrations", get_migrations, NULL, &migration_schema, "the first 1,024 of them",
		   OF_REPORT),
	INTEGER_FIELD("max_gap_ms", get_looked_ms, "longest time between two looks at the clock",
		      .argument = MEMBER(struct worker_report, max_gap_ns), OF_REPORT),
	INTEGER_FIELD("max_gap_cpu", get_looked_u32, "CPU before it",
		      .argument = MEMBER(struct worker_report, max_gap_cpu), OF_REPORT),
	INTEGER_FIELD("max_gap_at_ms", get_looked_ms, "its end, since the work began",
		      .argument = MEMBER(struct worker_report, max_gap_at_ns), OF_REPORT),
	INTEGER_FIELD("schedstat_cpu_time_ns", get_schedstat, "CPU time by the kernel",
		      .argument = 0, OF_REPORT),
	INTEGER_FIELD("schedstat_run_delay_ns", get_schedstat, "waits for a CPU by the kernel",
		      .argument = 1, OF_REPORT),
	INTEGER_FIELD("schedstat_run_count", get_schedstat, "times it got a CPU", .argument = 2,
		      OF_REPORT),
	MAP_FIELD("numa_pages", get_report_pages, report_pages, NULL,
		  "pages of its process by NUMA node", OF_REPORT),
	INTEGER_FIELD("vmstat_numa_pages_migrated", get_numa_migrated,
		      "pages that the whole machine moved", OF_REPORT),
	STREAMS(STREAM_TOTAL_FIELDS) /* three each */
	OBJECT_FIELD("program", get_program, &program_schema, "of `exec` only", OF_REPORT),
	OF_REPORT_U64(alarms, "scheduler_alarms", "SIGUSR2s that it sent to the scheduler"),
	REPORT_TEXT_FIELD(affinity_error, "affinity_error", "what was refused"),
	REPORT_TEXT_FIELD(policy_error, "policy_error", "what was refused"),
	REPORT_TEXT_FIELD(memory_policy_error, "memory_policy_error", "what was refused"),
	REPORT_TEXT_FIELD(nice_error, "nice_error", "what was refused"),
	REPORT_TEXT_FIELD(note, "note", "it works, but not quite as its type says"),
	REPORT_TEXT_FIELD(work_error, "work_error", "what it could not do"),
	OBJECT_FIELD("observed", get_observed, &observed_schema,
		     "with --observe: its states, seen from outside", .flags = FIELD_MAYBE),
};

/* `needs`: only those have it that left a report. */
static unsigned int worker_lacks(const struct item *item)
{
	return !worker_of(item)->report;
}

const struct schema worker_schema = {.name = "worker",
				     .help = "a worker of `dwell load`",
				     .version = 1,
				     SCHEMA_FIELDS(worker_fields),
				     .lacks = worker_lacks};

int load_write_worker(struct output *out, const struct outcome *outcome,
		      const struct run_group *worker_group, unsigned int number, bool samples)
{
	struct worker_row worker = {
		.outcome = outcome,
		.worker_group = worker_group,
		.number = number,
		.samples = samples,
		.report = worker_group_report(&worker_group->worker_group.workers[number])};
	struct item item = {&worker, NULL};
	unsigned int parts = worker_group->worker_group.shared.parts;
	cleanup_free struct sample_set *sets = calloc(parts, sizeof(*sets));

	if (!sets)
		return -ENOMEM;
	for (size_t i = 0; worker.report && i < SAMPLES_STREAMS; i++) {
		for (unsigned int k = 0; k < parts; k++)
			sets[k] = samples_of(&worker, i, k);
		if (samples_summarize(sets, parts, &worker.summaries[i]) < 0)
			return -ENOMEM;
	}
	emit_json_line(out, &worker_schema, &item);
	return 0;
}
