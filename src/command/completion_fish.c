// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/completion.h"

#include <stdio.h>
#include <string.h>

#include "command/describe.h"

static void fish_option(const struct argp_option *option, void *data)
{
	if (!option->name)
		return;
	printf("complete -c dwell -n '__fish_seen_subcommand_from %s' -l %s", (const char *)data,
	       option->name);
	if (option_is_short(option))
		printf(" -s %c", option->key);
	if (option->arg)
		printf(" %s", !strcmp(option->arg, "FILE") ? "-r"
			      : !strcmp(option->arg, "DIRECTORY")
				      ? "-xa '(__fish_complete_directories)'"
				      : "-x");
	if (option->arg && option_choices(option))
		printf(" -a '%s'", option_choices(option));
	printf(" -d '");
	print_quoted(option->doc, "");
	puts("'");
}

void complete_fish(void)
{
	puts("# fish completion of dwell; written by `dwell completion fish`");
	for (size_t i = 0; i < command_count; i++) {
		printf("complete -c dwell -f -n __fish_use_subcommand -a %s -d '",
		       commands[i]->name);
		print_quoted(commands[i]->summary, "");
		puts("'");
		if (commands[i]->argp)
			each_option(commands[i]->argp, fish_option, (void *)commands[i]->name);
		if (*argument_choices(commands[i]))
			printf("complete -c dwell -n '__fish_seen_subcommand_from %s' -a '%s'\n",
			       commands[i]->name, argument_choices(commands[i]));
	}
}
