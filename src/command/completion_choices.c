// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that options and arguments can have, from the tables that decide what is taken. */
#include <stdio.h>
#include <string.h>

#include "command/completion.h"
#include "command/describe.h"
#include "emit/emit.h"
#include "guest/presets.h"
#include "model/group.h"
#include "model/profile.h"
#include "runtime/runtime.h"
#include "view/blocked.h"
#include "view/profile_export.h"

void offer_commands(struct offers *offers, const char *without)
{
	for (size_t i = 0; i < command_count; i++)
		if (!without || strcmp(commands[i]->name, without) != 0)
			offer(offers, commands[i]->name, commands[i]->summary);
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
	offer(offers, "auto", "the one that dwell finds");
	for (size_t i = 0; i < runtime_count; i++)
		offer(offers, runtimes[i]->name, runtimes[i]->summary);
}

static void offer_groupings(struct offers *offers, const struct given *given)
{
	if (given->command == &command_profile)
		for (int i = 0; i < PROFILE_GROUPINGS_COUNT; i++)
			offer(offers, profile_grouping_keys[i], NULL);
	else if (given->command == &command_blocked)
		for (int i = 0; i < BLOCKED_ROWS_COUNT; i++)
			offer(offers, blocked_row_schemas[i]->table, NULL);
	else
		for (int i = given->command == &command_serve ? BY_PROCESS : BY_THREAD;
		     i < GROUPINGS_COUNT; i++)
			offer(offers, grouping_keys[i], NULL);
}

static void offer_states(struct offers *offers)
{
	offers_after(offers, ",");
	offer_words(offers, "all cpu waits");
	for (int i = 0; i < STATES; i++)
		if (i != STATE_STOLEN && i != STATE_IRQ) /* they have no stacks */
			offer(offers, state_info[i].key, state_info[i].help);
}

static void offer_triggers(struct offers *offers)
{
	offers_after(offers, ",");
	offer_words(offers, "runqueue-p99> runqueue-max> stall>");
	for (int i = 0; i < STATES; i++) {
		char condition[24];

		snprintf(condition, sizeof(condition), "%s>", state_info[i].key);
		offer(offers, condition, state_info[i].help);
	}
}

static void offer_kernels(struct offers *offers)
{
	offer(offers, "auto", "the newest of /boot, else of make guest-kernel");
	offers_instruct(offers, "files");
}

static void offer_formats(struct offers *offers, const struct given *given)
{
	if (given->command->has_screen)
		offer(offers, "tui", "the screen");
	for (size_t i = 0; i < format_count; i++)
		offer(offers, formats[i]->name, formats[i]->help);
	for (size_t i = 0; given->command == &command_profile && i < profile_export_count; i++)
		offer(offers, profile_exports[i].name, profile_exports[i].help);
	if (given->command == &command_report) {
		offer(offers, "html", "a page for a browser");
		offer(offers, "clickhouse", "rows of counters, as dwell serve pushes them");
	}
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
	{"check", offer_checks, NULL},
	{"export-format", NULL, "chrome folded json"},
	{"gate", offer_metrics, NULL},
	{"kernel", offer_kernels, NULL},
	{"list", offer_subjects, NULL},
	{"metrics", offer_metric_list, NULL},
	{"mode", NULL, "fork thread"},
	{"name", offer_process_names, NULL},
	{"patterns", offer_patterns, NULL},
	{"policy", NULL, "normal batch idle fifo: rr: deadline: ext"},
	{"print", offer_scenarios, NULL},
	{"push", NULL, "remote-write= victoriametrics= otlp= pyroscope= clickhouse="},
	{"root", NULL, "state thread none"},
	{"runtime", offer_runtimes, NULL},
	{"state", offer_states, NULL},
	{"theme", NULL, "auto dark light mono"},
	{"topology", offer_topologies, NULL},
	{"trigger", offer_triggers, NULL},
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
	else if (!strcmp(option->name, "by"))
		offer_groupings(offers, given);
	else if (!strcmp(option->name, "source"))
		offer_words(offers, given->command == &command_profile
					    ? "auto bpf"
					    : "auto bpf taskstats procfs");
	else if (!strcmp(option->name, "sort"))
		offer_orders(offers, given);
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
