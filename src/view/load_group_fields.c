// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` says of a group of workers. docs/formats/json.md is the contract. */
#include <math.h>
#include <string.h>

#include "view/load_rows.h"
#include "model/state.h"
#include "view/load.h"
#include "view/load_blame.h"
#include "view/load_places.h"
#include "view/load_values.h"
#include "view/view.h"

void load_group_name(char *into, size_t room, const struct run *run,
		     const struct run_group *worker_group)
{
	bool several = false;
	char number[16] = "";

	for (size_t i = 0; i < run->worker_group_count; i++)
		several |=
			run->worker_groups[i] != worker_group &&
			!strcmp(run->worker_groups[i]->cgroup, worker_group->cgroup) &&
			run->worker_groups[i]->group.work->type == worker_group->group.work->type;
	if (several)
		snprintf(number, sizeof(number), " #%u", worker_group->group.group_idx);
	snprintf(into, room, "%s%s%s%s", worker_group->cgroup, *worker_group->cgroup ? " " : "",
		 worker_group->group.work->type->name, number);
}

static const struct group_row *group_of(const struct item *item)
{
	return item->row;
}

/* For the getters of members: the summary as the row. */
static struct item summary_of(const struct item *item)
{
	return (struct item){group_of(item)->summary, NULL};
}

VALUE_GETTER(get_group_cgroup, value_text, group_of(item)->worker_group->cgroup)
VALUE_GETTER(get_group_idx, value_number, group_of(item)->worker_group->group.group_idx)
VALUE_GETTER(get_group_work, value_string, group_of(item)->worker_group->group.work->type->name)

FIELD_GETTER(get_params)
{
	const struct param *param = group_of(item)->worker_group->group.work->type->params;
	size_t count = 0;

	while (param && param[count].name)
		count++;
	value_elements(value, count);
}

FIELD_ELEMENT(param_element)
{
	const struct spec_work *work = group_of(item)->worker_group->group.work;
	const struct param *param = &work->type->params[index];
	struct output *text = group_of(item)->scratch;

	text->used = 0;
	param_write(text, param, work->params);
	output_char(text, '\0');
	value_string(value, text->error ? "" : text->buffer);
	value->name = param->name;
}

VALUE_GETTER(get_mode, value_string,
	     group_of(item)->worker_group->group.work->threads ? "thread" : "fork")

FIELD_GETTER(get_policy)
{
	spec_format_policy(value->text, sizeof(value->text),
			   &group_of(item)->worker_group->group.work->policy);
	value_string(value, value->text);
}

VALUE_GETTER(get_cpus_allowed, value_cpus, &group_of(item)->worker_group->allowed)

FIELD_ELEMENT(allowed_cpu)
{
	value_cpu(value, &group_of(item)->worker_group->allowed, index);
}

FIELD_GETTER(get_checkpoint)
{
	const struct plan_group *group = &group_of(item)->worker_group->group;
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
FIELD_GETTER(get_crossings)
{
	get_double_member(field, &(struct item){group_of(item)->summary, NULL}, value);
	if (!group_of(item)->summary->looked)
		value_null(value);
}

VALUE_GETTER(get_fairness, value_real, summary_fairness(group_of(item)->summary))
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

	value_known(value, summary_local_pages(group->worker_group, &group->run->topology->nodes),
		    group->summary->numas);
}

/* Null where no worker looked. */
static void put_places(const struct item *item, struct value *value,
		       const struct topology_parts *parts)
{
	value_elements(value, parts->count);
	if (!group_of(item)->summary->looked)
		value_null(value);
}

FIELD_GETTER(get_llcs)
{
	put_places(item, value, &group_of(item)->run->topology->llcs);
}

FIELD_GETTER(get_nodes)
{
	put_places(item, value, &group_of(item)->run->topology->nodes);
}

FIELD_ELEMENT(llc_element)
{
	const struct group_row *group = group_of(item);
	struct place_row row =
		load_place(&group->run->topology->llcs, group->outcome->llcs, group->number, index);

	value_made(value, &row, sizeof(row), NULL);
}

FIELD_ELEMENT(node_element)
{
	const struct group_row *group = group_of(item);
	struct place_row row = load_place(&group->run->topology->nodes, group->outcome->nodes,
					  group->number, index);

	value_made(value, &row, sizeof(row), NULL);
}

FIELD_GETTER(get_group_blame)
{
	const struct outcome *outcome = group_of(item)->outcome;
	size_t count;
	const struct blame *blames = load_group_blame(outcome, group_of(item)->number, &count);

	value_rows(value, blames, count, sizeof(*blames), outcome);
	if (!outcome->has_blame)
		value_absent(value);
}

#define SUMMARY_U64(member, key_, help_, ...)                                                      \
	INTEGER_FIELD(key_, get_summary_u64, help_, .argument = MEMBER(struct summary, member),    \
		      ##__VA_ARGS__)
#define SUMMARY_U32(member, key_, help_, ...)                                                      \
	INTEGER_FIELD(key_, get_summary_u32, help_, .argument = MEMBER(struct summary, member),    \
		      ##__VA_ARGS__)
#define SUMMARY_REAL(member, key_, help_, ...)                                                     \
	REAL_FIELD(key_, get_summary_real, help_, .argument = MEMBER(struct summary, member),      \
		   ##__VA_ARGS__)

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
	SUMMARY_U32(workers, "workers", "all of them", .header = "WORKERS"),
	SUMMARY_U32(completed, "completed", "those that reported; what follows is of them"),
	SUMMARY_U64(work_units, "work_units", "units of work"),
	SUMMARY_U64(iterations, "iterations", "outer iterations"),
	SUMMARY_REAL(iteration_rate, "iterations_per_second", "sum of the workers' rates",
		     .header = "ITER/S"),
	SUMMARY_REAL(slowest, "slowest_worker", "the least rate"),
	SUMMARY_REAL(fastest, "fastest_worker", "the largest rate"),
	SUMMARY_U64(cpu_ns, "cpu_time_ns", "CPU time", .header = "CPU"),
	SUMMARY_U64(wall_ns, "wall_time_ns", "length of the work, summed up"),
	SUMMARY_U64(off_cpu_ns, "off_cpu_ns", "what of that is not CPU time"),
	REAL_FIELD("off_cpu_spread", get_off_cpu_spread,
		   "between the workers' largest and least share"),
	INTEGER_FIELD("run_delay_ns", get_of_schedstats, "waits for a CPU by the kernel",
		      .header = "RUNQ", .argument = MEMBER(struct summary, run_delay_ns)),
	INTEGER_FIELD("run_count", get_of_schedstats, "times they got a CPU",
		      .argument = MEMBER(struct summary, run_count)),
	LIST_FIELD("cpus_used", get_summary_cpus, summary_cpu, NULL, "CPUs they were seen on"),
	INTEGER_FIELD("migration_count", get_summary_migrations, "moves to another CPU",
		      .header = "MIGR"),
	REAL_FIELD("cross_llc_migrations", get_crossings, "of these, to another last-level cache",
		   .argument = MEMBER(struct summary, cross_llc)),
	REAL_FIELD("cross_node_migrations", get_crossings, "of these, to another NUMA node",
		   .argument = MEMBER(struct summary, cross_node)),
	LIST_FIELD("llcs", get_llcs, llc_element, &load_place_schema,
		   "what it did on the CPUs of each last-level cache"),
	LIST_FIELD("nodes", get_nodes, node_element, &load_place_schema,
		   "the same of each NUMA node"),
	REAL_FIELD("fairness", get_fairness, "Jain's index of the workers' CPU times"),
	INTEGER_FIELD("max_gap_ms", get_summary_gap, "longest time between two looks at the clock",
		      .header = "MAXGAP"),
	INTEGER_FIELD("max_gap_tid", get_summary_gap_tid, "whose"),
	SUMMARY_REAL(throughput_cv, "throughput_cv", "of the workers' units per CPU second"),
	STREAMS(STREAM_FIELD) /* three */
	MAP_FIELD("numa_pages", get_summary_pages, summary_pages_element, NULL,
		  "pages by NUMA node"),
	INTEGER_FIELD("numa_local_pages", get_local_pages, "on nodes the group may use"),
	LIST_FIELD("blame", get_group_blame, NULL, &load_blame_schema,
		   "with --observe: because of whom its workers waited", .flags = FIELD_MAYBE),
};

const struct schema load_group_schema = {
	.name = "group", .help = "workers of one kind", SCHEMA_FIELDS(group_fields)};
