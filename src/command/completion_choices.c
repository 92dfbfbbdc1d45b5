// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that options and arguments can have, from the tables that decide what is taken. */
#include <string.h>

#include "command/completion.h"
#include "command/describe.h"
#include "emit/columns.h"
#include "emit/emit.h"
#include "guest/presets.h"
#include "load/checks.h"
#include "load/metrics.h"
#include "load/scenarios.h"
#include "load/work_type.h"
#include "matrix/fields.h"
#include "model/group.h"
#include "runtime/runtime.h"
#include "verify/pattern.h"
#include "view/blocked.h"
#include "view/compare.h"
#include "view/compare_threads.h"
#include "view/doctor.h"
#include "view/fields.h"
#include "view/load.h"
#include "view/recorded.h"
#include "view/verify_schema.h"
#include "view/view.h"

void offer_commands(struct offers *offers, const char *without)
{
	for (size_t i = 0; i < command_count; i++)
		if (!without || strcmp(commands[i]->name, without) != 0)
			offer(offers, commands[i]->name, commands[i]->summary);
}

static void offer_types(struct offers *offers)
{
	for (size_t i = 0; work_types[i]; i++)
		offer(offers, work_types[i]->name, work_types[i]->summary);
}

static void offer_choices(struct offers *offers, const struct param *param)
{
	for (size_t i = 0; param->choices && param->choices[i]; i++)
		offer(offers, param->choices[i], NULL);
}

/* TYPE[:NAME=VALUE,...] */
static void offer_work(struct offers *offers)
{
	const char *typed = offers_typed(offers), *equals;
	char type[64];
	const struct work_type *found = NULL;
	struct error error;

	if (!strchr(typed, ':')) {
		offer_types(offers);
		return;
	}
	snprintf(type, sizeof(type), "%.*s", (int)strcspn(typed, ":"), typed);
	if (work_type_find(type, &found, &error) < 0)
		return;
	offers_after(offers, ":,");
	typed = offers_typed(offers);
	equals = strchr(typed, '=');
	for (const struct param *param = found->params; param && param->name; param++) {
		size_t length = strlen(param->name);

		if (!equals) {
			offer_with(offers, param->name, "=", param->help);
		} else if ((size_t)(equals - typed) == length &&
			   !strncmp(param->name, typed, length)) {
			offers->kept += length + 1;
			offer_choices(offers, param);
			return;
		}
	}
}

static void offer_scenarios(struct offers *offers)
{
	for (const struct scenario *scenario = scenarios; scenario->name; scenario++)
		offer(offers, scenario->name, NULL);
}

static void offer_checks(struct offers *offers)
{
	for (const struct check_info *check = check_info; check->key; check++)
		if (check->help)
			offer(offers, check->key, check->help);
}

static void offer_metrics(struct offers *offers)
{
	for (size_t i = 0; i < LOAD_METRICS; i++)
		offer_with(offers, load_metrics[i].key, "=", load_metrics[i].help);
}

static void offer_subjects(struct offers *offers)
{
	offer_words(offers, "types scenarios checks");
	offer_types(offers);
	offer_scenarios(offers);
}

static void offer_patterns(struct offers *offers)
{
	offers_after(offers, ",");
	for (size_t i = 0; pattern_tables[i]; i++)
		for (const struct pattern *pattern = pattern_tables[i]; pattern->name; pattern++)
			offer(offers, pattern->name, pattern->help);
	for (size_t i = 0; call_tables[i]; i++)
		for (const struct call *call = call_tables[i]; call->name; call++)
			offer(offers, call->name, NULL);
}

static void offer_topologies(struct offers *offers)
{
	for (const struct shape_preset *preset = shape_presets; preset->name; preset++) {
		char shape[24];

		shape_format(shape, sizeof(shape), &preset->shape);
		offer(offers, preset->name, shape);
	}
}

static void offer_runtimes(struct offers *offers)
{
	offer(offers, "auto", NULL);
	for (size_t i = 0; i < runtime_count; i++)
		offer(offers, runtimes[i]->name, NULL);
}

static void offer_groupings(struct offers *offers)
{
	for (int i = 0; i < GROUPINGS_COUNT; i++)
		offer(offers, grouping_keys[i], NULL);
}

static void offer_kernels(struct offers *offers)
{
	offer(offers, "auto", "the newest of /boot, else of make guest-kernel");
	offers_instruct(offers, "files");
}

/* Rows by what: fields.levels. */
static unsigned int level_of(const struct given *given)
{
	const char *by = given_value(given, "by");

	for (int i = 0; by && i < GROUPINGS_COUNT; i++)
		if (!strcmp(by, grouping_keys[i]))
			return 1U << i;
	return 1U << BY_THREAD;
}

static void offer_columns(struct offers *offers, const struct schema *schema, unsigned int levels)
{
	struct columns columns;

	if (columns_init(&columns, schema, levels) >= 0)
		for (size_t i = 0; i < columns.count; i++)
			offer(offers, columns.items[i].name,
			      columns.items[i].fields[columns.items[i].depth - 1]->help);
	columns_release(&columns);
}

/* For --fields and --sort. */
static void offer_fields(struct offers *offers, const struct given *given)
{
	static const struct {
		const char *command;
		const struct schema *schema;
	} results[] = {
		{"blocked", &blocked_schema},
		{"compare", &compare_load_schema},
		{"compare", &compare_blocked_schema},
		{"compare", &compare_threads_schema},
		{"doctor", &doctor_schema},
		{"guest", &matrix_schema},
		{"load", &load_schema},
		{"record", &recorded_schema},
		{"report", &interval_schema},
		{"verify", &verify_schema},
	};
	enum blame_side blame = given_value(given, "blame") ? BLAME_SUFFERED : BLAME_NONE;

	if (!strcmp(given->command->name, "top"))
		offer_columns(offers, interval_schema_for(blame), level_of(given));
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (!strcmp(results[i].command, given->command->name))
			offer_columns(offers, results[i].schema,
				      results[i].schema == &interval_schema ? 1U << BY_THREAD
									    : ~0U);
	offer(offers, "help", "lists them");
}

static void offer_formats(struct offers *offers, const struct given *given)
{
	if (given->command->has_screen)
		offer(offers, "tui", "the screen");
	for (size_t i = 0; i < format_count; i++)
		offer(offers, formats[i]->name, formats[i]->help);
}

/* By the option's name. */
static const struct {
	const char *name;
	void (*offer)(struct offers *offers);
	const char *words;
} choices[] = {
	{"accel", NULL, "auto kvm tcg"},
	{"affinity", NULL, "inherit single spread random: llc smt-pair cross-cgroup"},
	{"blame", NULL, "suffered caused"},
	{"by", offer_groupings, NULL},
	{"check", offer_checks, NULL},
	{"export-format", NULL, "chrome folded json"},
	{"gate", offer_metrics, NULL},
	{"kernel", offer_kernels, NULL},
	{"list", offer_subjects, NULL},
	{"mode", NULL, "fork thread"},
	{"name", offer_process_names, NULL},
	{"patterns", offer_patterns, NULL},
	{"policy", NULL, "normal batch idle fifo: rr: deadline: ext"},
	{"print", offer_scenarios, NULL},
	{"runtime", offer_runtimes, NULL},
	{"source", NULL, "auto bpf taskstats procfs"},
	{"topology", offer_topologies, NULL},
	{"unwind", NULL, "auto dwarf fp"},
	{"work", offer_work, NULL},
};

/* By what the help calls the value. */
static void offer_kind(struct offers *offers, const char *kind)
{
	if (strchr(kind, '['))
		offers_after(offers, ",");
	if (!strncmp(kind, "PID", 3))
		offer_processes(offers);
	else if (!strncmp(kind, "TID", 3))
		offer_threads(offers);
	else if (!strcmp(kind, "PATH"))
		offer_cgroups(offers);
	else if (!strncmp(kind, "DIR", 3))
		offers_instruct(offers, "directories");
	else if (!strcmp(kind, "FILE") || !strcmp(kind, "COMMAND"))
		offers_instruct(offers, "files");
}

void offer_values(struct offers *offers, const struct given *given,
		  const struct command_option *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		if (strcmp(choices[i].name, option->name) != 0)
			continue;
		if (choices[i].offer)
			choices[i].offer(offers);
		else
			offer_words(offers, choices[i].words);
		return;
	}
	if (!strcmp(option->name, "format"))
		offer_formats(offers, given);
	else if (!strcmp(option->name, "sort"))
		offer_fields(offers, given);
	else if (!strcmp(option->name, "fields")) {
		offers_after(offers, ",");
		offer_fields(offers, given);
	} else
		offer_kind(offers, option->argument);
}

void offer_arguments(struct offers *offers, const struct command *command)
{
	switch (command->argument) {
	case ARGUMENT_PROCESS:
		offers->is_argument = true;
		offer_process_names(offers);
		break;
	case ARGUMENT_SHELL:
		offer_words(offers, "bash zsh fish");
		break;
	case ARGUMENT_SCENARIO:
		offer_scenarios(offers);
		offers_instruct(offers, "files");
		break;
	case ARGUMENT_FILE:
	case ARGUMENT_COMMAND:
		offers_instruct(offers, "files");
		break;
	case ARGUMENT_NONE:
		break;
	}
}
