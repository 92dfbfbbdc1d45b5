// SPDX-License-Identifier: GPL-2.0-or-later
/* Which part of a command line the last word is. */
#include <stdio.h>
#include <string.h>

#include "command/completion.h"
#include "command/describe.h"

static void offer_option(const struct command_option *option, void *data)
{
	char text[64];

	if (!option->name)
		return;
	snprintf(text, sizeof(text), "--%s", option->name);
	offer(data, text, option->help);
	/* a short one is complete, and has nothing in common with the others */
	snprintf(text, sizeof(text), "-%c", option->letter);
	if (option->letter && !strcmp(offers_typed(data), text))
		offer(data, text, option->help);
}

static void offer_options(struct offers *offers, const struct command *command)
{
	each_option(command->line, offer_option, offers);
	offer(offers, "--help", "options and examples");
}

static void complete_option(struct offers *offers, const struct given *given)
{
	const char *value;
	const struct command_option *option = option_of(given->command, offers->word, &value);

	if (value && option) {
		offers->kept = (size_t)(value - offers->word);
		offer_values(offers, given, option);
	} else if (!value) {
		offer_options(offers, given->command);
	}
}

/* After `--`. */
static bool takes_command(const struct command *command)
{
	return command->argument == ARGUMENT_PROCESS || command->argument == ARGUMENT_COMMAND;
}

static void complete_command(struct offers *offers, const struct command *command, size_t first);

/* A guest runs commands of dwell, and programs whose name has a slash. */
static void complete_program(struct offers *offers, const struct command *command, size_t first)
{
	const struct command *inside = NULL;

	if (strcmp(command->name, "guest") != 0) {
		offers_command(offers, first);
		return;
	}
	offers->in_guest = true;
	if (first + 1 == offers->count) {
		offer_commands(offers, command->name);
		offers_instruct(offers, "files");
		return;
	}
	inside = command_find(offers->words[first]);
	if (inside)
		complete_command(offers, inside, first);
	else if (strchr(offers->words[first], '/'))
		offers_command(offers, first);
}

/*
 * Where the words of a command to run begin, or `count`: there are none. In *ret_option the option
 * whose value comes next, or NULL.
 */
static size_t find_program(const struct offers *offers, const struct command *command, size_t first,
			   const struct command_option **ret_option)
{
	const char *value;

	*ret_option = NULL;
	for (size_t i = first + 1; i + 1 < offers->count; i++) {
		const char *word = offers->words[i];
		bool is_value = *ret_option != NULL;

		*ret_option = NULL;
		if (is_value)
			continue;
		if (!strcmp(word, "--") && takes_command(command))
			return i + 1;
		if (!is_option(word)) {
			if (!strcmp(command->name, "guest"))
				return i;
			continue;
		}
		*ret_option = option_of(command, word, &value);
		if (!option_takes_next(*ret_option) || value)
			*ret_option = NULL;
	}
	return offers->count;
}

/* `first` is the command's own name. */
static void complete_command(struct offers *offers, const struct command *command, size_t first)
{
	struct given given = {command, offers->words + first, offers->count - first};
	const struct command_option *option;
	size_t program = find_program(offers, command, first, &option);

	if (program < offers->count)
		complete_program(offers, command, program);
	else if (option)
		offer_values(offers, &given, option);
	else if (is_option(offers->word))
		complete_option(offers, &given);
	else if (*offers->word == '-' || (!*offers->word && command->argument == ARGUMENT_NONE))
		offer_options(offers, command);
	else if (!strcmp(command->name, "guest"))
		complete_program(offers, command, offers->count - 1);
	else
		offer_arguments(offers, command);
}

void complete_words(struct offers *offers)
{
	const struct command *command = NULL;

	if (offers->count == 2) {
		offer_commands(offers, NULL);
		offer(offers, "help", "the help of a command");
		offer(offers, "--help", "lists the commands");
		offer(offers, "version", "version and licence");
		offer(offers, "--version", "version and licence");
		return;
	}
	if (offers->count < 2)
		return;
	if (!strcmp(offers->words[1], "help")) {
		offer_commands(offers, NULL);
		return;
	}
	command = command_find(offers->words[1]);
	if (command)
		complete_command(offers, command, 1);
}
