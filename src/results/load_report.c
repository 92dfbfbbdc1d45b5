// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/load_report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "emit/read.h"
#include "view/load.h"

#define VERSION	    1
#define TOTALS_MOST 1e18 /* of anything: what is more would not add up */

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

static int take_number(struct load_report *report, const json_t *value, const char *key,
		       double *ret_number)
{
	double number = json_number_value(value);

	*ret_number = NAN;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value) || !(number >= 0 && number <= TOTALS_MOST))
		return error_set(report->error, EBADMSG,
				 "damaged: \"%s\" is not a number from 0 up", key);
	*ret_number = number;
	return 0;
}

static int number_at(struct load_report *report, const struct schema *schema, const json_t *object,
		     const char *path, double *ret_number)
{
	char outer[64];
	const json_t *within;

	snprintf(outer, sizeof(outer), "%.*s", (int)strcspn(path, "."), path);
	within = strchr(path, '.') ? result_read(schema, object, outer) : NULL;
	if (within && !json_is_object(within) && !json_is_null(within))
		return error_set(report->error, EBADMSG, "damaged: \"%s\" is not an object", outer);
	return take_number(report, result_read(schema, object, path), path, ret_number);
}

/* The group that a line is of. `ret_cgroup` is "" where it is null. */
static int group_at(struct load_report *report, const struct schema *schema, const json_t *line,
		    const char **ret_cgroup, json_int_t *ret_group_idx, const char **ret_work)
{
	const json_t *cgroup = result_read(schema, line, "cgroup");
	const json_t *group_idx = result_read(schema, line, "group_idx");

	*ret_cgroup = json_is_string(cgroup) ? json_string_value(cgroup) : "";
	*ret_group_idx = json_integer_value(group_idx);
	*ret_work = result_read_string(schema, line, "work");
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
	int result = group_at(report, &worker_schema, line, &cgroup, &worker.group_idx, &work);

	if (result >= 0)
		result = number_at(report, &worker_schema, line, "schedstat_run_delay_ns",
				   &worker.run_delay_ns);
	if (result >= 0)
		result = number_at(report, &worker_schema, line, "schedstat_run_count",
				   &worker.run_count);
	if (result >= 0)
		result = number_at(report, &worker_schema, line, "vmstat_numa_pages_migrated",
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
			 struct load_totals *totals)
{
	double left = totals->workers;

	for (size_t i = 0; i < report->worker_count && left > 0; i++) {
		struct worker_line *worker = &report->workers[i];

		if (worker->taken || worker->group_idx != (json_int_t)key->group_idx ||
		    strcmp(worker->cgroup, key->cgroup) || strcmp(worker->work, key->work))
			continue;
		worker->taken = true;
		left--;
		if (worker->run_count > 0)
			totals->worst_run_delay_ns = fmax(totals->worst_run_delay_ns,
							  worker->run_delay_ns / worker->run_count);
		/* each has the same figure of the machine */
		totals->migrated_pages = fmax(totals->migrated_pages, worker->migrated_pages);
	}
}

#define AT(member) offsetof(struct load_totals, member)

static const struct {
	const char *path; /* in a group */
	size_t offset;
} total_paths[] = {
	{"workers", AT(workers)},
	{"wall_time_ns", AT(wall_ns)},
	{"off_cpu_spread", AT(off_cpu_spread)},
	{"max_gap_ms", AT(max_gap_ms)},
	{"migration_count", AT(migrations)},
	{"cross_llc_migrations", AT(cross_llc)},
	{"cross_node_migrations", AT(cross_node)},
	{"fairness", AT(fairness)},
	{"cpu_time_ns", AT(cpu_ns)},
	{"iterations", AT(iterations)},
	{"iterations_per_second", AT(iteration_rate)},
	{"slowest_worker", AT(slowest_worker)},
	{"run_delay_ns", AT(run_delay_ns)},
	{"run_count", AT(run_count)},
	{"numa_local_pages", AT(local_pages)},
	{"wake_to_run.total", AT(wake_to_run.total)},
	{"wake_to_run.p50_ns", AT(wake_to_run.p50_ns)},
	{"wake_to_run.p99_ns", AT(wake_to_run.p99_ns)},
	{"wake_to_run.cv", AT(wake_to_run.cv)},
	{"resume.total", AT(resume.total)},
	{"resume.p50_ns", AT(resume.p50_ns)},
	{"resume.p99_ns", AT(resume.p99_ns)},
	{"resume.cv", AT(resume.cv)},
	{"iteration_cost.total", AT(cost.total)},
	{"iteration_cost.p50_ns", AT(cost.p50_ns)},
	{"iteration_cost.p99_ns", AT(cost.p99_ns)},
};

static int take_pages(struct load_report *report, const json_t *group, struct load_totals *totals)
{
	json_t *pages = result_read(&load_group_schema, group, "numa_pages");
	const char *node;
	json_t *value;
	int result = 0;

	totals->pages = NAN;
	json_object_foreach(pages, node, value)
	{
		double number;

		if (result >= 0)
			result = take_number(report, value, node, &number);
		if (result >= 0)
			totals->pages = isnan(totals->pages) ? number : totals->pages + number;
	}
	return result;
}

static int take_totals(struct load_report *report, const json_t *group, struct load_totals *totals)
{
	int result = take_pages(report, group, totals);

	totals->worst_run_delay_ns = totals->migrated_pages = NAN;
	for (size_t i = 0; result >= 0 && i < ARRAY_SIZE(total_paths); i++)
		result = number_at(report, &load_group_schema, group, total_paths[i].path,
				   (double *)((char *)totals + total_paths[i].offset));
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

static const char *name_in(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* `paths` have what a fact is called behind their last dot. */
static int add_facts(struct load_report *report, struct load_facts *facts,
		     const struct schema *schema, const json_t *object, const char *const *paths,
		     size_t count)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++)
		result = add_fact(report, facts, name_in(paths[i]),
				  result_read(schema, object, paths[i]));
	return result;
}

static int take_group_facts(struct load_report *report, struct load_facts *facts, json_t *group)
{
	static const char *const keys[] = {"workers", "mode", "policy", "cpus_allowed"};
	const char *name;
	json_t *value;
	int result = add_facts(report, facts, &load_group_schema, group, keys, ARRAY_SIZE(keys));

	json_object_foreach(result_read(&load_group_schema, group, "params"), name,
			    value) if (result >= 0) result = add_fact(report, facts, name, value);
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
			same &= json_equal(result_read(&load_group_schema, group, keys[k]),
					   result_read(&load_group_schema,
						       json_array_get(groups, i), keys[k]));
		count += same;
	}
	return count;
}

static int take_group(struct load_report *report, const json_t *groups, size_t number)
{
	json_t *group = json_array_get(groups, number);
	struct load_group_key key = {.occurrence = occurrence_of(groups, number)};
	struct load_totals totals;
	struct load_group *taken;
	json_int_t group_idx;
	int result =
		group_at(report, &load_group_schema, group, &key.cgroup, &group_idx, &key.work);

	key.group_idx = (unsigned int)group_idx;
	if (result >= 0)
		result = take_totals(report, group, &totals);
	if (result < 0)
		return result;
	take_workers(report, &key, &totals);
	taken = load_side_add(report->side, &key, &totals);
	return taken ? take_group_facts(report, &taken->facts, group) : no_memory(report);
}

/* Whether every worker of every group reported. */
static int is_staffed(struct load_report *report, const json_t *groups)
{
	bool staffed = true;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *workers =
			result_read(&load_group_schema, json_array_get(groups, i), "workers");
		const json_t *completed =
			result_read(&load_group_schema, json_array_get(groups, i), "completed");

		if (!json_is_integer(workers) || !json_is_integer(completed))
			return error_set(report->error, EBADMSG,
					 "damaged: a group has no \"workers\" and \"completed\"");
		staffed &= json_integer_value(completed) >= json_integer_value(workers);
	}
	return staffed;
}

static int take_run(struct load_report *report, const json_t *line)
{
	static const char *const facts[] = {"machine.kernel",
					    "machine.kernel_version",
					    "machine.architecture",
					    "machine.cpu_model",
					    "machine.cpus",
					    "machine.cores",
					    "machine.llcs",
					    "machine.nodes",
					    "machine.governor",
					    "machine.sched_ext",
					    "name",
					    "dwell",
					    "planned_ns"};
	static const char *const seed[] = {"seed"};
	struct load_side *side = report->side;
	const json_t *groups = result_read(&load_schema, line, "groups");
	const char *end = result_read_string(&load_schema, line, "end");
	const char *verdict = result_read_string(&load_schema, line, "verdict");
	const char *started = result_read_string(&load_schema, line, "started");
	int staffed, result;
	double taken;

	if (!end || !json_is_array(groups))
		return error_set(report->error, EBADMSG, "damaged: no \"end\" and \"groups\"");
	staffed = is_staffed(report, groups);
	if (staffed < 0)
		return staffed;
	result = number_at(report, &load_schema, line, "pressure.taken_share", &taken);
	if (result < 0)
		return result;
	if (strcmp(end, "complete") || !staffed) {
		side->left_out.unended += strcmp(end, "complete") != 0;
		side->left_out.lacking += !strcmp(end, "complete");
		return 0;
	}
	if (!load_side_wants(side, started))
		return 0;
	if (load_side_begin_run(side, started, taken) < 0)
		return no_memory(report);
	side->failed += verdict && !strcmp(verdict, "fail");
	result = add_facts(report, &side->facts, &load_schema, line, facts, ARRAY_SIZE(facts));
	/* one that a run drew for itself says nothing: each has another */
	if (result >= 0 && !json_is_false(result_read(&load_schema, line, "seed_given")))
		result = add_facts(report, &side->facts, &load_schema, line, seed, 1);
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
