// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/completion.h"

#include <stdio.h>
#include <string.h>

#include "command/describe.h"

static void zsh_option(const struct argp_option *option, void *data)
{
	(void)data;
	if (!option->name)
		return;
	printf("\t\t'--%s%s[", option->name, option->arg ? "=" : "");
	print_quoted(option->doc, "[]:");
	printf("]");
	if (option->arg && option_choices(option))
		printf(":%s:(%s)", option->arg, option_choices(option));
	else if (option->arg)
		printf(":%s:%s", option->arg,
		       !strcmp(option->arg, "FILE")	   ? "_files"
		       : !strcmp(option->arg, "DIRECTORY") ? "_files -/"
							   : "");
	puts("' \\");
}

void complete_zsh(void)
{
	puts("#compdef dwell\n# zsh completion of dwell; written by `dwell completion zsh`\n"
	     "_dwell() {\n\tlocal -a commands\n\tcommands=(");
	for (size_t i = 0; i < command_count; i++) {
		printf("\t\t'%s:", commands[i]->name);
		print_quoted(commands[i]->summary, ":");
		puts("'");
	}
	puts("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	     "\tlocal command=${words[2]}\n\tshift words\n\t((CURRENT--))\n\tcase $command in");
	for (size_t i = 0; i < command_count; i++) {
		printf("\t%s) _arguments \\\n", commands[i]->name);
		if (commands[i]->argp)
			each_option(commands[i]->argp, zsh_option, NULL);
		if (*argument_choices(commands[i]))
			printf("\t\t'--help[help]' '*:file:{_alternative \"names:name:(%s)\" "
			       "\"files:file:_files\"}' ;;\n",
			       argument_choices(commands[i]));
		else
			puts("\t\t'--help[help]' '*:file:_files' ;;");
	}
	puts("\tesac\n}\n_dwell \"$@\"");
}
