// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/describe.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/watch_options.h"
#include "load/checks.h"
#include "load/scenarios.h"
#include "load/work_type.h"
#include "model/group.h"
#include "view/fields.h"
#include "emit/emit.h"

void each_option(const struct argp *argp,
		 void (*call)(const struct argp_option *option, void *data), void *data)
{
	for (const struct argp_option *option = argp->options;
	     option && (option->name || option->key || option->doc); option++)
		if (!(option->flags & OPTION_HIDDEN))
			call(option, data);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		each_option(child->argp, call, data);
}

/* Words, separated by blanks. Static storage. */
static char words[4096];

static void add_word(const char *word)
{
	size_t used = strlen(words);

	snprintf(words + used, sizeof(words) - used, "%s%s", used ? " " : "", word);
}

static void add_types(void)
{
	for (size_t i = 0; work_types[i]; i++)
		add_word(work_types[i]->name);
}

static void add_scenarios(void)
{
	for (const struct scenario *scenario = scenarios; scenario->name; scenario++)
		add_word(scenario->name);
}

static void add_formats(const struct argp_option *option)
{
	/* not all commands have a screen */
	if (strstr(option->doc, "tui"))
		add_word("tui");
	for (size_t i = 0; i < format_count; i++)
		add_word(formats[i]->name);
}

static void add_checks(void)
{
	for (const struct check_info *check = check_info; check->key; check++)
		if (check->help)
			add_word(check->key);
}

const char *option_choices(const struct argp_option *option)
{
	*words = '\0';
	if (!strcmp(option->name, "format")) {
		add_formats(option);
	} else if (!strcmp(option->name, "by")) {
		for (int i = 0; i < GROUPINGS_COUNT; i++)
			add_word(grouping_keys[i]);
	} else if (!strcmp(option->name, "sort")) {
		for (size_t i = 0; i < field_count; i++)
			add_word(fields[i].name);
	} else if (!strcmp(option->name, "source")) {
		add_word("auto bpf taskstats procfs");
	} else if (!strcmp(option->name, "work")) {
		add_types();
	} else if (!strcmp(option->name, "check")) {
		add_checks();
	} else if (!strcmp(option->name, "print")) {
		add_scenarios();
	} else if (!strcmp(option->name, "list")) {
		add_word("types scenarios checks");
		add_types();
		add_scenarios();
	} else if (!strcmp(option->name, "mode")) {
		add_word("fork thread");
	} else if (!strcmp(option->name, "policy")) {
		add_word("normal batch idle fifo: rr: deadline: ext");
	} else if (!strcmp(option->name, "affinity")) {
		add_word("inherit single spread random llc smt-pair cross-cgroup");
	}
	return *words ? words : NULL;
}

const char *argument_choices(const struct command *command)
{
	*words = '\0';
	if (!strcmp(command->name, "load"))
		add_scenarios();
	return words;
}

bool option_is_short(const struct argp_option *option)
{
	return option->key > 0 && option->key < 128 && isalnum(option->key);
}

static void print_escaped(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			putchar('\\');
		if (*text == '-')
			putchar('\\');
		putchar(*text);
	}
}

static void manual_option(const struct argp_option *option, void *data)
{
	(void)data;
	if (!option->name) {
		printf(".SS %.*s\n", (int)strcspn(option->doc, ":"), option->doc);
		return;
	}
	puts(".TP");
	printf(".B ");
	if (option_is_short(option))
		printf("\\-%c, ", option->key);
	printf("\\-\\-");
	print_escaped(option->name);
	if (option->arg)
		printf(option->flags & OPTION_ARG_OPTIONAL ? "[=\\fI%s\\fP]" : "=\\fI%s\\fP",
		       option->arg);
	putchar('\n');
	print_escaped(option->doc);
	if (!strcmp(option->name, "sort")) {
		putchar(' ');
		print_escaped(option_choices(option));
	}
	putchar('\n');
}

void describe_manual(const struct command *command)
{
	if (command->argp)
		each_option(command->argp, manual_option, NULL);
}
