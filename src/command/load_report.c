// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/array.h"

#define VERSION	     1
#define FIGURES_MOST 1e18 /* of anything: what is more would not add up */

/* What is needed of a line of a worker. */
struct worker_line {
	char *cgroup, *work;
	json_int_t group_idx;
	double run_delay_ns, run_count, migrated_pages;
	bool taken; /* by its group */
};

static int no_memory(struct load_report *report)
{
	return error_set(report->error, ENOMEM, "out of memory");
}

static int number_at(struct load_report *report, const json_t *object, const char *key,
		     double *ret_number)
{
	const json_t *value = json_object_get(object, key);
	double number = json_number_value(value);

	*ret_number = NAN;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value) || !(number >= 0 && number <= FIGURES_MOST))
		return error_set(report->error, EBADMSG,
				 "damaged: \"%s\" is not a number from 0 up", key);
	*ret_number = number;
	return 0;
}

/* The group that a line is of. `ret_cgroup` is "" where it is null. */
static int group_at(struct load_report *report, const json_t *line, const char **ret_cgroup,
		    json_int_t *ret_group_idx, const char **ret_work)
{
	const json_t *cgroup = json_object_get(line, "cgroup");
	const json_t *group_idx = json_object_get(line, "group_idx");

	*ret_cgroup = json_is_string(cgroup) ? json_string_value(cgroup) : "";
	*ret_group_idx = json_integer_value(group_idx);
	*ret_work = json_string_value(json_object_get(line, "work"));
	if (!*ret_work || !json_is_integer(group_idx) || *ret_group_idx < 0 ||
	    *ret_group_idx > INT_MAX ||
	    (cgroup && !json_is_string(cgroup) && !json_is_null(cgroup)))
		return error_set(report->error, EBADMSG,
				 "damaged: no group (\"cgroup\", \"group_idx\", "
				 "\"work\")");
	return 0;
}

static int take_worker(struct load_report *report, const json_t *line)
{
	struct worker_line worker = {.taken = false};
	const char *cgroup, *work;
	int result = group_at(report, line, &cgroup, &worker.group_idx, &work);

	if (result >= 0)
		result = number_at(report, line, "schedstat_run_delay_ns", &worker.run_delay_ns);
	if (result >= 0)
		result = number_at(report, line, "schedstat_run_count", &worker.run_count);
	if (result >= 0)
		result = number_at(report, line, "vmstat_numa_pages_migrated",
				   &worker.migrated_pages);
	if (result < 0)
		return result;
	if (array_reserve(&report->workers, &report->worker_room, report->worker_count + 1,
			  sizeof(worker)) < 0)
		return no_memory(report);
	worker.cgroup = strdup(cgroup);
	worker.work = strdup(work);
	report->workers[report->worker_count++] = worker;
	return worker.cgroup && worker.work ? 0 : no_memory(report);
}

static void forget_workers(struct load_report *report)
{
	for (size_t i = 0; i < report->worker_count; i++) {
		free(report->workers[i].cgroup);
		free(report->workers[i].work);
	}
	report->worker_count = 0;
}

/*
 * What only the lines of the workers contain. Groups of one name (stopped, and started again) have
 * theirs one after the other, in the order of the groups.
 */
static void take_workers(struct load_report *report, const struct load_group_key *key,
			 struct load_figures *figures)
{
	double left = figures->workers;

	for (size_t i = 0; i < report->worker_count && left > 0; i++) {
		struct worker_line *worker = &report->workers[i];

		if (worker->taken || worker->group_idx != (json_int_t)key->group_idx ||
		    strcmp(worker->cgroup, key->cgroup) || strcmp(worker->work, key->work))
			continue;
		worker->taken = true;
		left--;
		if (worker->run_count > 0)
			figures->worst_run_delay_ns =
				fmax(figures->worst_run_delay_ns,
				     worker->run_delay_ns / worker->run_count);
		/* each has the same figure of the machine */
		figures->migrated_pages = fmax(figures->migrated_pages, worker->migrated_pages);
	}
}

#define AT(member) offsetof(struct load_figures, member)

static const struct {
	const char *object, *key; /* object NULL: of the group itself */
	size_t offset;
} fields[] = {
	{NULL, "workers", AT(workers)},
	{NULL, "wall_time_ns", AT(wall_ns)},
	{NULL, "off_cpu_spread", AT(off_cpu_spread)},
	{NULL, "max_gap_ms", AT(max_gap_ms)},
	{NULL, "migration_count", AT(migrations)},
	{NULL, "iterations", AT(iterations)},
	{NULL, "iterations_per_second", AT(iteration_rate)},
	{NULL, "slowest_worker", AT(slowest_worker)},
	{NULL, "run_delay_ns", AT(run_delay_ns)},
	{NULL, "run_count", AT(run_count)},
	{NULL, "numa_local_pages", AT(local_pages)},
	{"wake_to_run", "total", AT(wake_to_run.total)},
	{"wake_to_run", "p50_ns", AT(wake_to_run.p50_ns)},
	{"wake_to_run", "p99_ns", AT(wake_to_run.p99_ns)},
	{"wake_to_run", "cv", AT(wake_to_run.cv)},
	{"resume", "total", AT(resume.total)},
	{"resume", "p50_ns", AT(resume.p50_ns)},
	{"resume", "p99_ns", AT(resume.p99_ns)},
	{"resume", "cv", AT(resume.cv)},
	{"iteration_cost", "total", AT(cost.total)},
	{"iteration_cost", "p50_ns", AT(cost.p50_ns)},
	{"iteration_cost", "p99_ns", AT(cost.p99_ns)},
};

static int take_pages(struct load_report *report, const json_t *group, struct load_figures *figures)
{
	json_t *pages = json_object_get(group, "numa_pages");
	const char *node;
	json_t *value;
	int result = 0;

	figures->pages = NAN;
	json_object_foreach(pages, node, value)
	{
		double number;

		if (result >= 0)
			result = number_at(report, pages, node, &number);
		if (result >= 0)
			figures->pages = isnan(figures->pages) ? number : figures->pages + number;
	}
	return result;
}

static int take_figures(struct load_report *report, const json_t *group,
			struct load_figures *figures)
{
	int result = take_pages(report, group, figures);

	figures->worst_run_delay_ns = figures->migrated_pages = NAN;
	for (size_t i = 0; result >= 0 && i < ARRAY_SIZE(fields); i++) {
		const json_t *object =
			fields[i].object ? json_object_get(group, fields[i].object) : group;

		if (object && !json_is_object(object) && !json_is_null(object))
			return error_set(report->error, EBADMSG, "damaged: \"%s\" is not an object",
					 fields[i].object);
		result = number_at(report, object, fields[i].key,
				   (double *)((char *)figures + fields[i].offset));
	}
	return result;
}

/* Strings as they are, anything else as JSON has it, null in a word. */
static int add_fact(struct load_report *report, struct load_facts *facts, const char *what,
		    const json_t *value)
{
	cleanup_free char *text = NULL;

	if (!value)
		return 0;
	if (json_is_string(value))
		text = strdup(json_string_value(value));
	else if (json_is_null(value))
		text = strdup("none");
	else
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	return text && load_facts_add(facts, what, text) >= 0 ? 0 : no_memory(report);
}

static int add_facts(struct load_report *report, struct load_facts *facts, const json_t *object,
		     const char *const *keys, size_t count)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++)
		result = add_fact(report, facts, keys[i], json_object_get(object, keys[i]));
	return result;
}

static int take_group_facts(struct load_report *report, struct load_facts *facts, json_t *group)
{
	static const char *const keys[] = {"workers", "mode", "policy", "cpus_allowed"};
	const char *name;
	json_t *value;
	int result = add_facts(report, facts, group, keys, ARRAY_SIZE(keys));

	json_object_foreach(json_object_get(group, "params"), name, value) if (result >= 0) result =
		add_fact(report, facts, name, value);
	return result;
}

/* How many groups of this name the run had before. */
static unsigned int occurrence_of(const json_t *groups, size_t number)
{
	static const char *const keys[] = {"cgroup", "group_idx", "work"};
	const json_t *group = json_array_get(groups, number);
	unsigned int count = 0;

	for (size_t i = 0; i < number; i++) {
		bool same = true;

		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			same &= json_equal(json_object_get(group, keys[k]),
					   json_object_get(json_array_get(groups, i), keys[k]));
		count += same;
	}
	return count;
}

static int take_group(struct load_report *report, const json_t *groups, size_t number)
{
	json_t *group = json_array_get(groups, number);
	struct load_group_key key = {.occurrence = occurrence_of(groups, number)};
	struct load_figures figures;
	struct load_group *taken;
	json_int_t group_idx;
	int result = group_at(report, group, &key.cgroup, &group_idx, &key.work);

	key.group_idx = (unsigned int)group_idx;
	if (result >= 0)
		result = take_figures(report, group, &figures);
	if (result < 0)
		return result;
	take_workers(report, &key, &figures);
	taken = load_side_add(report->side, &key, &figures);
	return taken ? take_group_facts(report, &taken->facts, group) : no_memory(report);
}

/* Whether every worker of every group reported. */
static int is_staffed(struct load_report *report, const json_t *groups)
{
	bool staffed = true;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *workers = json_object_get(json_array_get(groups, i), "workers");
		const json_t *completed = json_object_get(json_array_get(groups, i), "completed");

		if (!json_is_integer(workers) || !json_is_integer(completed))
			return error_set(report->error, EBADMSG,
					 "damaged: a group has no \"workers\" and \"completed\"");
		staffed &= json_integer_value(completed) >= json_integer_value(workers);
	}
	return staffed;
}

static int take_run(struct load_report *report, const json_t *line)
{
	static const char *const of_machine[] = {
		"kernel", "kernel_version", "architecture", "cpu_model", "cpus",
		"cores",  "llcs",	    "nodes",	    "governor",	 "sched_ext"};
	static const char *const of_run[] = {"name", "dwell", "planned_ns", "seed"};
	struct load_side *side = report->side;
	const json_t *groups = json_object_get(line, "groups");
	const char *end = json_string_value(json_object_get(line, "end"));
	const char *verdict = json_string_value(json_object_get(line, "verdict"));
	int staffed, result;

	if (!end || !json_is_array(groups))
		return error_set(report->error, EBADMSG, "damaged: no \"end\" and \"groups\"");
	staffed = is_staffed(report, groups);
	if (staffed < 0)
		return staffed;
	if (strcmp(end, "complete") || !staffed) {
		side->left_out.unended += strcmp(end, "complete") != 0;
		side->left_out.lacking += !strcmp(end, "complete");
		return 0;
	}
	side->runs++;
	side->failed += verdict && !strcmp(verdict, "fail");
	result = add_facts(report, &side->facts, json_object_get(line, "machine"), of_machine,
			   ARRAY_SIZE(of_machine));
	if (result >= 0)
		result = add_facts(report, &side->facts, line, of_run, ARRAY_SIZE(of_run));
	for (size_t i = 0; result >= 0 && i < json_array_size(groups); i++)
		result = take_group(report, groups, i);
	return result;
}

int load_report_take(struct load_report *report, const json_t *line, struct error *error)
{
	const char *type = json_string_value(json_object_get(line, "type"));
	const json_t *version = json_object_get(line, "version");
	bool is_run = type && !strcmp(type, "load");
	int result;

	report->error = error;
	if (!is_run && (!type || strcmp(type, "worker") != 0))
		return error_set(error, EBADMSG, "not a report of `dwell load`");
	if (json_integer_value(version) != VERSION)
		return error_set(error, EBADMSG,
				 "a report of another version of the format (\"version\" is not "
				 "%d)",
				 VERSION);
	result = is_run ? take_run(report, line) : take_worker(report, line);
	if (is_run)
		forget_workers(report);
	return result;
}

bool load_report_is_open(const struct load_report *report)
{
	return report->worker_count > 0;
}

void load_report_release(struct load_report *report)
{
	forget_workers(report);
	free(report->workers);
	*report = (struct load_report){.side = NULL};
}
