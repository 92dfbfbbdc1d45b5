// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/completion.h"

#include <stdio.h>
#include <string.h>

#include "command/describe.h"

static void bash_word(const struct argp_option *option, void *data)
{
	(void)data;
	if (option->name)
		printf(" --%s", option->name);
}

static void bash_values(const struct argp_option *option, void *data)
{
	(void)data;
	if (option->name && option->arg && option_choices(option))
		printf("\t--%s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n",
		       option->name, option_choices(option));
	else if (option->name && option->arg && !strcmp(option->arg, "FILE"))
		printf("\t--%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", option->name);
	else if (option->name && option->arg && !strcmp(option->arg, "DIRECTORY"))
		printf("\t--%s) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n", option->name);
}

/* Bash gives `--by=th` as three words: --by, =, th. */
void complete_bash(void)
{
	puts("# bash completion of dwell; written by `dwell completion bash`\n"
	     "_dwell() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	     "\tlocal command=${COMP_WORDS[1]}\n"
	     "\tCOMPREPLY=()\n"
	     "\t[ \"$word\" = = ] && word=\n"
	     "\t[ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
	     "\tif [ \"$COMP_CWORD\" = 1 ]; then");
	printf("\t\tCOMPREPLY=($(compgen -W \"");
	for (size_t i = 0; i < command_count; i++)
		printf("%s ", commands[i]->name);
	puts("--help --version\" -- \"$word\"))\n\t\treturn\n\tfi");
	for (size_t i = 0; i < command_count; i++) {
		printf("\tif [ \"$command\" = %s ]; then\n\tcase $before in\n", commands[i]->name);
		if (commands[i]->argp)
			each_option(commands[i]->argp, bash_values, NULL);
		printf("\tesac\n\tcase $word in\n\t-*) COMPREPLY=($(compgen -W \"--help");
		if (commands[i]->argp)
			each_option(commands[i]->argp, bash_word, NULL);
		printf("\" -- \"$word\")) ;;\n\t*) COMPREPLY=($(compgen -f -W \"%s\" -- "
		       "\"$word\")) ;;\n\tesac\n\tfi\n",
		       argument_choices(commands[i]));
	}
	puts("}\ncomplete -F _dwell dwell");
}
