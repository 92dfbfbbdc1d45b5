// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell load --dry-run`. */
#include "command/load_list.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "load/cgroups.h"
#include "load/checks.h"
#include "load/plan.h"

/* Neighbours that may run on the same CPUs in one line. */
static void print_cpus(const struct plan_group *group, const struct cpus *cpuset,
		       const char *indent)
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

static int print_group(struct planner *planner, const struct spec_cgroup *cgroup,
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
	print_cpus(&group, &cpuset, indent);
	plan_group_release(&group);
	return 0;
}

static int print_cgroup(struct planner *planner, const struct spec_cgroup *cgroup,
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
		result = print_group(planner, cgroup, &cgroup->works.items[i], "    ", error);
	return result;
}

static int print_phase(struct planner *planner, const struct spec_phase *phase, size_t number,
		       struct error *error)
{
	char hold[16], loop[16];
	int result = 0;

	duration_format(hold, sizeof(hold), spec_hold_ns(planner->spec, phase));
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
			result = print_group(planner, &op->cgroup, &op->cgroup.works.items[k],
					     "      ", error);
	}
	return result;
}

static void print_checks(const struct spec_checks *checks)
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
	struct error lacking = {""};
	char duration[16];
	int result = 0;

	planner_init(&planner, spec, topology);
	duration_format(duration, sizeof(duration), spec_length_ns(spec));
	print_text(stdout, "%s: %s, seed %llu\n", spec->name, duration,
		   (unsigned long long)spec->seed);
	for (size_t i = 0; result >= 0 && i < spec->cgroups.count; i++)
		result = print_cgroup(&planner, &spec->cgroups.items[i], error);
	for (size_t i = 0; result >= 0 && i < spec->phases.count; i++)
		result = print_phase(&planner, &spec->phases.items[i], i + 1, error);
	puts("Checks:\n  every worker reports");
	print_checks(&spec->checks);
	/* a plan may be for another machine, or a guest */
	if (result >= 0 && cgroups_check(spec, &lacking) < 0)
		print_text(stderr, "dwell load: it cannot run here: %s\n", lacking.text);
	return result;
}
