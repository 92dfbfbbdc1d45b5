// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` says of a run and its workers. docs/formats/json.md is the contract. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/state.h"
#include "version.h"
#include "view/load.h"
#include "view/view.h"

static void value_cpus(struct value *value, const struct cpus *cpus)
{
	unsigned int end = 0;

	for (unsigned int cpu = cpus_next(cpus, 0); cpu < CPUS_MAX; cpu = cpus_next(cpus, cpu + 1))
		end = cpu + 1;
	value_elements(value, end);
}

static void value_cpu(struct value *value, const struct cpus *cpus, size_t cpu)
{
	value_number(value, cpu);
	if (!cpus_has(cpus, (unsigned int)cpu))
		value_absent(value);
}

static void value_node(struct value *value, const uint64_t pages[REPORT_NODES], size_t node)
{
	value_number(value, pages[node]);
	if (!pages[node])
		value_absent(value);
	snprintf(value->text, sizeof(value->text), "%zu", node);
	value->name = value->text;
}

/* Samples */

static const struct field sample_fields[] = {
	NUMBER_MEMBER(struct sample_summary, total, "total", "samples there were"),
	NUMBER_MEMBER(struct sample_summary, count, "kept", "of them"),
	NUMBER_MEMBER(struct sample_summary, min, "min_ns", "the least"),
	NUMBER_MEMBER(struct sample_summary, p50, "p50_ns", "median"),
	NUMBER_MEMBER(struct sample_summary, p90, "p90_ns", "90th percentile"),
	NUMBER_MEMBER(struct sample_summary, p99, "p99_ns", "99th percentile"),
	NUMBER_MEMBER(struct sample_summary, p999, "p99_9_ns", "99.9th percentile"),
	NUMBER_MEMBER(struct sample_summary, max, "max_ns", "the largest"),
	REAL_MEMBER(struct sample_summary, mean, "mean_ns", "arithmetic mean"),
	REAL_MEMBER(struct sample_summary, cv, "cv", "standard deviation by mean"),
};

static const struct schema sample_schema = {
	.name = "distribution", .help = "null without samples", SCHEMA_FIELDS(sample_fields)};

static void value_samples(struct value *value, const struct sample_summary *summary)
{
	if (summary->count)
		value_object(value, summary, NULL);
	else
		value_null(value);
}

/* Key of the distribution, of how many there were, and of the samples themselves. */
#define STREAMS(X)                                                                                 \
	X(RESUME, "resume", "wake_sample_total", "resume_latencies_ns",                            \
	  "how long waits took, whole calls")                                                      \
	X(WAKE_TO_RUN, "wake_to_run", "wake_to_run_total", "wake_to_run_ns",                       \
	  "from the wakeup to the first instruction after")                                        \
	X(COST, "iteration_cost", "iteration_cost_sample_total", "iteration_costs_ns",             \
	  "wall time of iterations")

/* A worker */

struct worker_row {
	const struct outcome *outcome;
	const struct run_crew *crew;
	unsigned int number;
	bool samples;			    /* all of them, not only their summary */
	const struct worker_report *report; /* NULL: it left none */
	struct sample_summary summaries[SAMPLES_STREAMS];
};

static const struct worker_row *worker_of(const struct item *item)
{
	return item->row;
}

static const struct crew_worker *crew_worker_of(const struct item *item)
{
	return &worker_of(item)->crew->crew.workers[worker_of(item)->number];
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

VALUE_GETTER(get_worker_cgroup, value_text, worker_of(item)->crew->cgroup)
VALUE_GETTER(get_worker_group, value_number, worker_of(item)->crew->group.group_idx)
VALUE_GETTER(get_worker_work, value_string, worker_of(item)->crew->group.work->type->name)
VALUE_GETTER(get_index, value_number, worker_of(item)->crew->first_index + worker_of(item)->number)

static unsigned int position_of(const struct worker_row *worker)
{
	return worker->number % worker->crew->group.team_size;
}

VALUE_GETTER(get_position, value_number, position_of(worker_of(item)))

FIELD_GETTER(get_is_messenger)
{
	const struct worker_row *worker = worker_of(item);

	value_bool(value,
		   worker->crew->group.work->type->flags & WORK_MESSENGER && !position_of(worker));
}

FIELD_GETTER(get_tid)
{
	const struct worker_row *worker = worker_of(item);

	value_number(value, worker->report
				    ? worker->report->tid
				    : arena_slot(&worker->crew->crew.arena, worker->number)->tid);
}

VALUE_GETTER(get_completed, value_bool, worker_of(item)->report != NULL)

FIELD_GETTER(get_exit_kind)
{
	static const char *const kinds[] = {[EXIT_REPORTED] = "exited",
					    [EXIT_EXITED] = "exited",
					    [EXIT_SIGNALED] = "signaled",
					    [EXIT_TIMED_OUT] = "timed_out",
					    [EXIT_WAIT_FAILED] = "wait_failed"};

	value_string(value, kinds[crew_worker_of(item)->exit]);
}

/* Of the kind in `argument`. */
FIELD_GETTER(get_exit_number)
{
	const struct crew_worker *worker = crew_worker_of(item);

	value_signed(value, worker->exit_code);
	if (worker->exit != (enum exit_kind)field->argument)
		value_absent(value);
}

FIELD_GETTER(get_exit_error)
{
	const struct crew_worker *worker = crew_worker_of(item);

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
	if (crew_worker_of(item)->exit == EXIT_REPORTED)
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

VALUE_GETTER(get_migrations, value_rows, crew_migrations(crew_worker_of(item)),
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
	const struct crew *crew = &worker_of(item)->crew->crew;

	value_known(value, crew->numa_migrated, crew->numa_migrated_measured);
}

VALUE_GETTER(get_sample_total, value_number,
	     worker_of(item)->report->sample_totals[field->argument])
VALUE_GETTER(get_worker_samples, value_samples, &worker_of(item)->summaries[field->argument])

static const uint64_t *samples_of(const struct worker_row *worker, size_t stream)
{
	return arena_samples(&worker->crew->crew.arena, worker->number,
			     (enum report_samples)stream);
}

FIELD_GETTER(get_all_samples)
{
	const struct worker_row *worker = worker_of(item);

	value_elements(value, reservoir_kept(worker->report->sample_totals[field->argument]));
	if (!worker->samples)
		value_absent(value);
}

FIELD_ELEMENT(sample_element)
{
	value_number(value, samples_of(worker_of(item), field->argument)[index]);
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
	observed += worker->crew->first_index + worker->number;
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
static void get_of_worker(const struct field *field, const struct item *item, struct value *value)
{
	if (field->needs && !worker_of(item)->report)
		value_absent(value);
	else
		field->get(field, item, value);
}

const struct schema worker_schema = {.name = "worker",
				     .help = "a worker of `dwell load`",
				     .version = 1,
				     SCHEMA_FIELDS(worker_fields),
				     .get = get_of_worker};

static int write_worker(struct output *out, const struct outcome *outcome,
			const struct run_crew *crew, unsigned int number, bool samples)
{
	struct worker_row worker = {.outcome = outcome,
				    .crew = crew,
				    .number = number,
				    .samples = samples,
				    .report = crew_report(&crew->crew.workers[number])};
	struct item item = {&worker, NULL};

	for (size_t i = 0; worker.report && i < SAMPLES_STREAMS; i++) {
		struct sample_set set = {.values = samples_of(&worker, i),
					 .count = reservoir_kept(worker.report->sample_totals[i]),
					 .total = worker.report->sample_totals[i]};

		if (samples_summarize(&set, 1, &worker.summaries[i]) < 0)
			return -ENOMEM;
	}
	emit_json_line(out, &worker_schema, &item);
	return 0;
}

/* The run: the row of its line is the outcome. */

struct group_row {
	const struct run *run;
	const struct run_crew *crew;
	const struct summary *summary;
	struct output *scratch; /* for parameters, one at a time */
};

static const struct group_row *group_of(const struct item *item)
{
	return item->row;
}

/* For the getters of members: the summary as the row. */
static struct item summary_of(const struct item *item)
{
	return (struct item){group_of(item)->summary, NULL};
}

VALUE_GETTER(get_group_cgroup, value_text, group_of(item)->crew->cgroup)
VALUE_GETTER(get_group_idx, value_number, group_of(item)->crew->group.group_idx)
VALUE_GETTER(get_group_work, value_string, group_of(item)->crew->group.work->type->name)

FIELD_GETTER(get_params)
{
	const struct param *param = group_of(item)->crew->group.work->type->params;
	size_t count = 0;

	while (param && param[count].name)
		count++;
	value_elements(value, count);
}

FIELD_ELEMENT(param_element)
{
	const struct spec_work *work = group_of(item)->crew->group.work;
	const struct param *param = &work->type->params[index];
	struct output *text = group_of(item)->scratch;

	text->used = 0;
	param_write(text, param, work->params);
	output_char(text, '\0');
	value_string(value, text->error ? "" : text->buffer);
	value->name = param->name;
}

VALUE_GETTER(get_mode, value_string, group_of(item)->crew->group.work->threads ? "thread" : "fork")

FIELD_GETTER(get_policy)
{
	spec_format_policy(value->text, sizeof(value->text),
			   &group_of(item)->crew->group.work->policy);
	value_string(value, value->text);
}

VALUE_GETTER(get_cpus_allowed, value_cpus, &group_of(item)->crew->allowed)

FIELD_ELEMENT(allowed_cpu)
{
	value_cpu(value, &group_of(item)->crew->allowed, index);
}

FIELD_GETTER(get_checkpoint)
{
	const struct plan_group *group = &group_of(item)->crew->group;
	unsigned int period = work_checkpoint_period(group->work->type, group->work->params,
						     group->team_size > 1);

	value_known(value, period, period > 0);
}

FIELD_GETTER(get_summary_u64)
{
	struct item summary = summary_of(item);

	get_u64_member(field, &summary, value);
}

FIELD_GETTER(get_summary_u32)
{
	struct item summary = summary_of(item);

	get_u32_member(field, &summary, value);
}

FIELD_GETTER(get_summary_real)
{
	struct item summary = summary_of(item);

	get_double_member(field, &summary, value);
}

FIELD_GETTER(get_off_cpu_spread)
{
	const struct summary *summary = group_of(item)->summary;

	value_real(value, summary->off_cpu_most - summary->off_cpu_least);
}

FIELD_GETTER(get_of_schedstats)
{
	get_summary_u64(field, item, value);
	if (!group_of(item)->summary->schedstats)
		value_null(value);
}

VALUE_GETTER(get_summary_cpus, value_cpus, &group_of(item)->summary->cpus_used)

FIELD_ELEMENT(summary_cpu)
{
	value_cpu(value, &group_of(item)->summary->cpus_used, index);
}

VALUE_GETTER(get_summary_migrations, value_known, group_of(item)->summary->migrations,
	     group_of(item)->summary->looked)
VALUE_GETTER(get_summary_gap, value_known, group_of(item)->summary->max_gap_ns / 1000000,
	     group_of(item)->summary->looked)
VALUE_GETTER(get_summary_gap_tid, value_known, group_of(item)->summary->max_gap_tid,
	     group_of(item)->summary->looked)
VALUE_GETTER(get_summary_samples, value_samples, &group_of(item)->summary->samples[field->argument])

FIELD_GETTER(get_summary_pages)
{
	value_elements(value, REPORT_NODES);
	if (!group_of(item)->summary->numas)
		value_null(value);
}

FIELD_ELEMENT(summary_pages_element)
{
	value_node(value, group_of(item)->summary->numa_pages, index);
}

FIELD_GETTER(get_local_pages)
{
	const struct group_row *group = group_of(item);

	value_known(value,
		    summary_local_pages(group->summary, group->crew, &group->run->topology->nodes),
		    group->summary->numas);
}

#define SUMMARY_U64(member, key_, help_)                                                           \
	INTEGER_FIELD(key_, get_summary_u64, help_, .argument = MEMBER(struct summary, member))
#define SUMMARY_U32(member, key_, help_)                                                           \
	INTEGER_FIELD(key_, get_summary_u32, help_, .argument = MEMBER(struct summary, member))
#define SUMMARY_REAL(member, key_, help_)                                                          \
	REAL_FIELD(key_, get_summary_real, help_, .argument = MEMBER(struct summary, member))

#define STREAM_FIELD(name_, key_, total_key, all_key, help_)                                       \
	OBJECT_FIELD(key_, get_summary_samples, &sample_schema, help_, .argument = SAMPLES_##name_),

static const struct field group_fields[] = {
	STRING_FIELD("cgroup", get_group_cgroup, "its cgroup", .header = "CGROUP"),
	INTEGER_FIELD("group_idx", get_group_idx, "number among the works of its cgroup",
		      .header = "GROUP"),
	STRING_FIELD("work", get_group_work, "type of work", .header = "WORK"),
	MAP_FIELD("params", get_params, param_element, NULL, "of the type"),
	STRING_FIELD("mode", get_mode, "fork or thread"),
	STRING_FIELD("policy", get_policy, "scheduling policy"),
	LIST_FIELD("cpus_allowed", get_cpus_allowed, allowed_cpu, NULL,
		   "all CPUs that its cgroup ever had"),
	INTEGER_FIELD("checkpoint_iterations", get_checkpoint,
		      "from one look at the clock to the next"),
	SUMMARY_U32(workers, "workers", "all of them"),
	SUMMARY_U32(completed, "completed", "those that reported; what follows is of them"),
	SUMMARY_U64(work_units, "work_units", "units of work"),
	SUMMARY_U64(iterations, "iterations", "outer iterations"),
	SUMMARY_REAL(iteration_rate, "iterations_per_second", "sum of the workers' rates"),
	SUMMARY_REAL(slowest, "slowest_worker", "the least rate"),
	SUMMARY_REAL(fastest, "fastest_worker", "the largest rate"),
	SUMMARY_U64(cpu_ns, "cpu_time_ns", "CPU time"),
	SUMMARY_U64(wall_ns, "wall_time_ns", "length of the work, summed up"),
	SUMMARY_U64(off_cpu_ns, "off_cpu_ns", "what of that is not CPU time"),
	REAL_FIELD("off_cpu_spread", get_off_cpu_spread,
		   "between the workers' largest and least share"),
	INTEGER_FIELD("run_delay_ns", get_of_schedstats, "waits for a CPU by the kernel",
		      .argument = MEMBER(struct summary, run_delay_ns)),
	INTEGER_FIELD("run_count", get_of_schedstats, "times they got a CPU",
		      .argument = MEMBER(struct summary, run_count)),
	LIST_FIELD("cpus_used", get_summary_cpus, summary_cpu, NULL, "CPUs they were seen on"),
	INTEGER_FIELD("migration_count", get_summary_migrations, "moves to another CPU"),
	INTEGER_FIELD("max_gap_ms", get_summary_gap, "longest time between two looks at the clock"),
	INTEGER_FIELD("max_gap_tid", get_summary_gap_tid, "whose"),
	SUMMARY_REAL(throughput_cv, "throughput_cv", "of the workers' units per CPU second"),
	STREAMS(STREAM_FIELD) /* three */
	MAP_FIELD("numa_pages", get_summary_pages, summary_pages_element, NULL,
		  "pages by NUMA node"),
	INTEGER_FIELD("numa_local_pages", get_local_pages, "on nodes the group may use"),
};

const struct schema load_group_schema = {
	.name = "group", .help = "workers of one kind", SCHEMA_FIELDS(group_fields)};

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

static const struct finding *finding_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_check, value_string, finding_of(item)->check->key)
VALUE_GETTER(get_check_verdict, value_string, verdict_names[finding_of(item)->verdict])

FIELD_GETTER(get_check_cgroup)
{
	const struct run_crew *crew = finding_of(item)->crew;

	if (crew)
		value_text(value, crew->cgroup);
	else
		value_absent(value);
}

FIELD_GETTER(get_check_group)
{
	const struct run_crew *crew = finding_of(item)->crew;

	if (crew)
		value_number(value, crew->group.group_idx);
	else
		value_absent(value);
}

FIELD_GETTER(get_check_work)
{
	const struct run_crew *crew = finding_of(item)->crew;

	if (crew)
		value_string(value, crew->group.work->type->name);
	else
		value_absent(value);
}

FIELD_GETTER(get_check_tid)
{
	value_number(value, finding_of(item)->tid);
	if (!finding_of(item)->tid)
		value_absent(value);
}

VALUE_GETTER(get_check_text, value_string, finding_of(item)->text)

static const struct field check_fields[] = {
	STRING_FIELD("check", get_check, "its name"),
	STRING_FIELD("verdict", get_check_verdict, "pass, fail, inconclusive or skip"),
	STRING_FIELD("cgroup", get_check_cgroup, "of the group", .flags = FIELD_MAYBE),
	INTEGER_FIELD("group_idx", get_check_group, "of the group", .flags = FIELD_MAYBE),
	STRING_FIELD("work", get_check_work, "of the group", .flags = FIELD_MAYBE),
	INTEGER_FIELD("tid", get_check_tid, "the worker, where one failed", .flags = FIELD_MAYBE),
	REAL_MEMBER(struct finding, figure, "figure", "in ns, shares or plain numbers"),
	REAL_MEMBER(struct finding, limit, "limit", "that it had to keep"),
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

VALUE_GETTER(get_groups, value_elements, run_of(item)->crew_count)

FIELD_ELEMENT(group_element)
{
	const struct outcome *outcome = item->row;
	struct group_row group = {.run = outcome->run,
				  .crew = outcome->run->crews[index],
				  .summary = &outcome->summaries[index],
				  .scratch = *(struct output *const *)item->context};

	value_made(value, &group, sizeof(group), NULL);
}

VALUE_GETTER(get_events, value_rows, run_of(item)->events, run_of(item)->event_count,
	     sizeof(struct run_event), NULL)

FIELD_GETTER(get_machine_stolen)
{
	const struct outcome *outcome = item->row;

	value_known(value, outcome->machine_time.stolen_ns, outcome->machine_measured);
}

FIELD_GETTER(get_machine_busy)
{
	const struct outcome *outcome = item->row;

	value_known(value, outcome->machine_time.busy_ns, outcome->machine_measured);
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

	value_rows(value, outcome->findings.items, outcome->findings.count, sizeof(struct finding),
		   NULL);
}

FIELD_GETTER(get_verdict)
{
	const struct outcome *outcome = item->row;

	value_string(value, verdict_names[outcome->findings.verdict]);
}

VALUE_GETTER(get_machine, value_object, &((const struct outcome *)item->row)->machine, NULL)

#define RUN_U64(member, key_, help_)                                                               \
	INTEGER_FIELD(key_, get_run_u64, help_, .argument = MEMBER(struct run, member))

static const struct field load_fields[] = {
	STRING_FIELD("name", get_run_name, "of the spec", .flags = FIELD_OF_ROWS),
	STRING_FIELD("dwell", get_version, "version"),
	INTEGER_FIELD("seed", get_seed, "repeats the run's random choices with --seed",
		      .flags = FIELD_OF_ROWS),
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
	LIST_FIELD("events", get_events, NULL, &event_schema, "phases, ops and stuck workers"),
	OBJECT_FIELD("scheduler", get_scheduler, &scheduler_schema, "the sched_ext scheduler"),
	RUN_U64(alarms, "scheduler_alarms", "SIGUSR2s to it, without those that workers report"),
	INTEGER_FIELD("machine_stolen_ns", get_machine_stolen,
		      "what the hypervisor took from all CPUs"),
	INTEGER_FIELD("machine_busy_ns", get_machine_busy, "busy and stolen time of all CPUs"),
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

	for (size_t i = 0; with_workers && i < outcome->run->crew_count; i++) {
		const struct run_crew *crew = outcome->run->crews[i];

		for (unsigned int k = 0; result >= 0 && k < crew->crew.forked; k++)
			result = write_worker(emit->out, outcome, crew, k, samples);
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
