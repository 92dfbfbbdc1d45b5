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

static void print_params(const struct work_type *type)
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

static int print_type(const struct work_type *type, struct error *error)
{
	struct spec_works works = {.items = NULL};
	struct spec_work *work = spec_add_work(&works);
	int result = work ? spec_parse_work(work, type->name, error) : -ENOMEM;

	print_text(stdout, "%s: %s\n", type->name, type->summary);
	print_params(type);
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
		return work_type_find(subject, &type, error) < 0 ? -EINVAL
								 : print_type(type, error);
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
