// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "load/checks.h"
#include "load/scenarios.h"
#include "load/spec_yaml.h"

static void list_types(void)
{
	puts("Work types (parameters: dwell load --list TYPE):");
	for (size_t i = 0; work_types[i]; i++)
		print_text(stdout, "  %-24s %s\n", work_types[i]->name, work_types[i]->summary);
}

static void list_scenarios(void)
{
	puts("Scenarios (their specs: dwell load --print SCENARIO):");
	for (const struct scenario *scenario = scenarios; scenario->name; scenario++) {
		struct spec spec;

		spec_init(&spec);
		if (spec_read_text(&spec, scenario->text, scenario->name, NULL) >= 0)
			print_text(stdout, "  %-24s %s\n", scenario->name,
				   spec.description ? spec.description : "");
		spec_release(&spec);
	}
}

static void list_checks(void)
{
	static const char *const units[] = {
		[CHECK_FLAG] = "",
		[CHECK_DURATION] = "=TIME",
		[CHECK_SHARE] = "=SHARE",
		[CHECK_NUMBER] = "=N",
	};

	puts("Checks:");
	for (const struct check_info *check = check_info; check->key; check++) {
		char name[64];

		if (!check->help)
			continue;
		snprintf(name, sizeof(name), "%s%s", check->key, units[check->kind]);
		print_text(stdout, "  %-24s %s\n", name, check->help);
	}
}

static void tell_params(const struct work_type *type)
{
	for (const struct param *param = type->params; param && param->name; param++) {
		char name[64];

		snprintf(name, sizeof(name), "%s=%s", param->name,
			 param->initial ? param->initial : "");
		print_text(stdout, "  %-24s %s", name, param->help);
		for (size_t i = 0; param->kind == PARAM_CHOICE && param->choices[i]; i++)
			print_text(stdout, "%s%s", i ? ", " : ": ", param->choices[i]);
		putchar('\n');
	}
}

static int tell_type(const struct work_type *type, struct error *error)
{
	struct spec_works works = {.items = NULL};
	struct spec_work *work = spec_add_work(&works);
	int result = work ? spec_parse_work(work, type->name, error) : -ENOMEM;

	print_text(stdout, "%s: %s\n", type->name, type->summary);
	tell_params(type);
	if (result >= 0) {
		unsigned int team = work_team_size(type, work->params);
		unsigned int period = work_checkpoint_period(type, work->params, team > 1);

		if (team > 1)
			print_text(stdout, "Workers come in groups of %u.\n", team);
		if (period)
			print_text(stdout, "Looks at the clock every %u iteration%s%s.\n", period,
				   period == 1 ? "" : "s", team > 1 ? ", and after each wait" : "");
		if (type->flags & WORK_FORKS)
			puts("Makes processes of its own: not for --mode thread.");
		params_release(type->params, work->params);
		free(work->params);
	}
	free(works.items);
	return result;
}

int load_list(const char *subject, struct error *error)
{
	const struct work_type *type;

	if (!subject) {
		list_types();
		putchar('\n');
		list_scenarios();
		putchar('\n');
		list_checks();
		return 0;
	}
	if (!strcmp(subject, "types"))
		list_types();
	else if (!strcmp(subject, "scenarios"))
		list_scenarios();
	else if (!strcmp(subject, "checks"))
		list_checks();
	else if (scenario_find(subject))
		return load_print(subject, error);
	else
		return work_type_find(subject, &type, error) < 0 ? -EINVAL : tell_type(type, error);
	return 0;
}

int load_print(const char *name, struct error *error)
{
	const struct scenario *scenario = scenario_find(name);

	if (!scenario)
		return scenario_unknown(name, error);
	fputs(scenario->text, stdout); /* built in */
	return 0;
}

/* Neighbours that may run on the same CPUs in one line. */
static void tell_cpus(const struct plan_group *group, const struct cpus *cpuset, const char *indent)
{
	char text[CPUS_TEXT];
	unsigned int first = 0;

	if (!group->cpus) {
		cpus_format(text, sizeof(text), cpuset);
		print_text(stdout, "%s  all on %s\n", indent, text);
		return;
	}
	for (unsigned int i = 1; i <= group->count; i++) {
		if (i < group->count &&
		    !memcmp(&group->cpus[i], &group->cpus[first], sizeof(*group->cpus)))
			continue;
		cpus_format(text, sizeof(text), &group->cpus[first]);
		if (i - first > 1)
			print_text(stdout, "%s  workers %u to %u on %s\n", indent, first, i - 1,
				   text);
		else
			print_text(stdout, "%s  worker %u on %s\n", indent, first, text);
		first = i;
	}
}

static int tell_group(struct planner *planner, const struct spec_cgroup *cgroup,
		      const struct spec_work *work, const char *indent, struct error *error)
{
	struct plan_group group;
	struct cpus cpuset;
	struct output out;
	char policy[64];
	int result = plan_cpuset(planner, cgroup, &cpuset, error);

	if (result >= 0)
		result = plan_group(planner, cgroup, work, &cpuset, &group, error);
	if (result < 0)
		return result;
	print_text(stdout, "%s%u x %s", indent, group.count, work->type->name);
	for (const struct param *param = work->type->params; param && param->name; param++) {
		if (output_init(&out, -1) < 0) {
			plan_group_release(&group);
			return error_set(error, ENOMEM, "out of memory");
		}
		param_write(&out, param, work->params);
		print_text(stdout, "%s%s=%.*s", param == work->type->params ? ":" : ",",
			   param->name, (int)out.used, out.buffer);
		output_release(&out);
	}
	spec_format_policy(policy, sizeof(policy), &work->policy);
	if (work->policy.kind != POLICY_NORMAL)
		print_text(stdout, ", policy %s", policy);
	if (work->nice_given)
		print_text(stdout, ", nice %d", work->nice);
	if (work->threads)
		print_text(stdout, ", threads of one process");
	if (group.team_size > 1)
		print_text(stdout, ", %u group%s of %u", group.count / group.team_size,
			   group.count == group.team_size ? "" : "s", group.team_size);
	putchar('\n');
	tell_cpus(&group, &cpuset, indent);
	plan_group_release(&group);
	return 0;
}

static int tell_cgroup(struct planner *planner, const struct spec_cgroup *cgroup,
		       struct error *error)
{
	struct cpus cpuset;
	char text[CPUS_TEXT];
	int result = plan_cpuset(planner, cgroup, &cpuset, error);

	if (result < 0)
		return result;
	cpus_format(text, sizeof(text), &cpuset);
	if (*cgroup->name)
		print_text(stdout, "  cgroup %s", cgroup->name);
	else
		print_text(stdout, "  in this cgroup");
	if (cgroup->cpuset)
		print_text(stdout, ", cpuset %s", text);
	for (size_t i = 0; i < SPEC_LIMITS; i++)
		if (cgroup->limits.values[i])
			print_text(stdout, ", %s %s", limit_info[i].file, cgroup->limits.values[i]);
	putchar('\n');
	for (size_t i = 0; result >= 0 && i < cgroup->works.count; i++)
		result = tell_group(planner, cgroup, &cgroup->works.items[i], "    ", error);
	return result;
}

static int tell_phase(struct planner *planner, const struct spec_phase *phase, size_t number,
		      struct error *error)
{
	uint64_t hold_ns = phase->hold == HOLD_TIME
				   ? phase->hold_ns
				   : (uint64_t)(phase->share * (double)planner->spec->duration_ns);
	char hold[16], loop[16];
	int result = 0;

	duration_format(hold, sizeof(hold), hold_ns);
	duration_format(loop, sizeof(loop), phase->loop_ns);
	print_text(stdout, "  phase %zu, %s%s%s\n", number, hold,
		   phase->loop_ns ? ", ops repeated every " : "", phase->loop_ns ? loop : "");
	for (size_t i = 0; result >= 0 && i < phase->op_count; i++) {
		const struct spec_op *op = &phase->ops[i];

		print_text(stdout, "    %s%s%s%s%s%s%s%s%s\n", op_names[op->kind],
			   *op->cgroup.name ? " " : "", op->cgroup.name, *op->other ? " " : "",
			   op->other, op->cgroup.cpuset ? " cpus " : "",
			   op->cgroup.cpuset ? op->cgroup.cpuset : "", op->command ? " " : "",
			   op->command ? op->command : "");
		for (size_t k = 0; result >= 0 && k < op->cgroup.works.count; k++)
			result = tell_group(planner, &op->cgroup, &op->cgroup.works.items[k],
					    "      ", error);
	}
	return result;
}

static void tell_checks(const struct spec_checks *checks)
{
	for (const struct check_info *check = check_info; check->key; check++) {
		const void *at = (const char *)checks + check->offset;
		char limit[32] = "";

		if (!check->help)
			continue;
		if (check->kind == CHECK_FLAG ? !*(const bool *)at
					      : *(const double *)at != *(const double *)at)
			continue;
		if (check->kind != CHECK_FLAG)
			check_format(limit, sizeof(limit), check->kind, *(const double *)at);
		print_text(stdout, "  %s%s%s\n", check->key, *limit ? " " : "", limit);
	}
}

int load_print_plan(const struct spec *spec, const struct topology *topology, struct error *error)
{
	struct planner planner;
	char duration[16];
	int result = 0;

	planner_init(&planner, spec, topology);
	duration_format(duration, sizeof(duration), spec->duration_ns);
	print_text(stdout, "%s: %s, seed %llu\n", spec->name, duration,
		   (unsigned long long)spec->seed);
	for (size_t i = 0; result >= 0 && i < spec->cgroups.count; i++)
		result = tell_cgroup(&planner, &spec->cgroups.items[i], error);
	for (size_t i = 0; result >= 0 && i < spec->phases.count; i++)
		result = tell_phase(&planner, &spec->phases.items[i], i + 1, error);
	puts("Checks:\n  every worker reports");
	tell_checks(&spec->checks);
	return result;
}
