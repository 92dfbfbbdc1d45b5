// SPDX-License-Identifier: GPL-2.0-or-later
/* The options in a command line. */
#include <string.h>

#include "command/completion.h"

static size_t name_length(const char *word)
{
	return strcspn(word, "=");
}

struct search {
	const char *name; /* without dashes; NULL: by letter */
	size_t length;
	char letter;
	const struct command_option *found;
};

/* getopt_long() takes the beginning of a name, too. */
static void try_option(const struct command_option *option, void *data)
{
	struct search *search = data;

	if (!option->name || (search->name && !search->length))
		return;
	if (!search->name) {
		if (option->letter && option->letter == search->letter)
			search->found = option;
		return;
	}
	if (strncmp(option->name, search->name, search->length) != 0)
		return;
	if (!search->found || !option->name[search->length])
		search->found = option;
}

static const struct command_option *find(const struct command *command, struct search search)
{
	each_option(command->line, try_option, &search);
	return search.found;
}

bool option_takes_next(const struct command_option *option)
{
	return option && option->argument && !option->is_optional;
}

const struct command_option *option_of(const struct command *command, const char *word,
				       const char **ret_value)
{
	const struct command_option *option = NULL;

	*ret_value = NULL;
	if (word[1] == '-') {
		word += 2;
		option = find(command, (struct search){.name = word, .length = name_length(word)});
		*ret_value = word[name_length(word)] ? word + name_length(word) + 1 : NULL;
		return option;
	}
	/* several letters, up to one that takes the rest as its value */
	while (*++word) {
		option = find(command, (struct search){.letter = *word});
		if (option && option->argument) {
			*ret_value = word[1] ? word + 1 : NULL;
			return option;
		}
	}
	return option;
}

bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

const char *given_value(const struct given *given, const char *name)
{
	const char *found = NULL, *value;

	for (size_t i = 1; i + 1 < given->count && strcmp(given->words[i], "--") != 0; i++) {
		const struct command_option *option =
			is_option(given->words[i])
				? option_of(given->command, given->words[i], &value)
				: NULL;

		if (option && !strcmp(option->name, name))
			found = value ? value
				: option_takes_next(option) && i + 2 < given->count
					? given->words[i + 1]
					: "";
		i += option_takes_next(option) && !value;
	}
	return found;
}
