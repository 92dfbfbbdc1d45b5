// SPDX-License-Identifier: GPL-2.0-or-later
/* All commands: `dwell --help`, and by name. */
#include <errno.h>
#include <string.h>

#include "base/print.h"
#include "base/similar.h"
#include "base/text.h"
#include "command/command.h"

#define X(name) &command_##name,
const struct command *const commands[] = {COMMANDS(X)};
#undef X
const size_t command_count = ARRAY_SIZE(commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

int command_check(const char *name, struct error *error)
{
	struct similar similar = {.wanted = name};
	char shown[64];

	if (command_find(name))
		return 0;
	for (size_t i = 0; i < command_count; i++)
		similar_try(&similar, commands[i]->name);
	text_printable(shown, sizeof(shown), name, 40);
	return similar_error(error, EINVAL, &similar, "; `dwell --help` lists them",
			     "no command '%s'", shown);
}

void commands_print(FILE *to)
{
	fputs("Usage: dwell COMMAND [OPTION...]\n"
	      "Shows where every thread's time goes, and who is to blame.\n\n"
	      "Commands:\n",
	      to);
	for (size_t i = 0; i < command_count; i++)
		print_text(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nOptions:\n"
	      "  --help     this list; `dwell help COMMAND` for a command's own, with examples\n"
	      "  --version  version and licence\n\n"
	      "Exit status: 0 done, 1 could not run, 2 usage, 3 a check failed, 4 inconclusive.\n",
	      to);
}
