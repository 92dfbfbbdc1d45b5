// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell completion SHELL`, and the options in the manual: both from the commands' own tables. */
#include "command/describe.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/watch_options.h"
#include "load/checks.h"
#include "load/scenarios.h"
#include "load/work_type.h"
#include "model/group.h"
#include "view/fields.h"
#include "emit/emit.h"

/* Calls for every option that is shown, those of children too. */
static void each_option(const struct argp *argp,
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

/* Values an option can have; NULL: anything. */
static const char *choices(const struct argp_option *option)
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

/* What may stand in place of a file; "": nothing. */
static const char *arguments(const struct command *command)
{
	*words = '\0';
	if (!strcmp(command->name, "load"))
		add_scenarios();
	return words;
}

static bool has_short(const struct argp_option *option)
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
	if (has_short(option))
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
		print_escaped(choices(option));
	}
	putchar('\n');
}

void describe_manual(const struct command *command)
{
	if (command->argp)
		each_option(command->argp, manual_option, NULL);
}

static void bash_word(const struct argp_option *option, void *data)
{
	(void)data;
	if (option->name)
		printf(" --%s", option->name);
}

static void bash_values(const struct argp_option *option, void *data)
{
	(void)data;
	if (option->name && option->arg && choices(option))
		printf("\t--%s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n",
		       option->name, choices(option));
	else if (option->name && option->arg && !strcmp(option->arg, "FILE"))
		printf("\t--%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", option->name);
	else if (option->name && option->arg && !strcmp(option->arg, "DIRECTORY"))
		printf("\t--%s) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n", option->name);
}

/* Bash gives `--by=th` as three words: --by, =, th. */
static void complete_bash(void)
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
		       arguments(commands[i]));
	}
	puts("}\ncomplete -F _dwell dwell");
}

static void print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

static void zsh_option(const struct argp_option *option, void *data)
{
	(void)data;
	if (!option->name)
		return;
	printf("\t\t'--%s%s[", option->name, option->arg ? "=" : "");
	print_quoted(option->doc, "[]:");
	printf("]");
	if (option->arg && choices(option))
		printf(":%s:(%s)", option->arg, choices(option));
	else if (option->arg)
		printf(":%s:%s", option->arg,
		       !strcmp(option->arg, "FILE")	   ? "_files"
		       : !strcmp(option->arg, "DIRECTORY") ? "_files -/"
							   : "");
	puts("' \\");
}

static void complete_zsh(void)
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
		if (*arguments(commands[i]))
			printf("\t\t'--help[help]' '*:file:{_alternative \"names:name:(%s)\" "
			       "\"files:file:_files\"}' ;;\n",
			       arguments(commands[i]));
		else
			puts("\t\t'--help[help]' '*:file:_files' ;;");
	}
	puts("\tesac\n}\n_dwell \"$@\"");
}

static void fish_option(const struct argp_option *option, void *data)
{
	if (!option->name)
		return;
	printf("complete -c dwell -n '__fish_seen_subcommand_from %s' -l %s", (const char *)data,
	       option->name);
	if (has_short(option))
		printf(" -s %c", option->key);
	if (option->arg)
		printf(" %s", !strcmp(option->arg, "FILE") ? "-r"
			      : !strcmp(option->arg, "DIRECTORY")
				      ? "-xa '(__fish_complete_directories)'"
				      : "-x");
	if (option->arg && choices(option))
		printf(" -a '%s'", choices(option));
	printf(" -d '");
	print_quoted(option->doc, "");
	puts("'");
}

static void complete_fish(void)
{
	puts("# fish completion of dwell; written by `dwell completion fish`");
	for (size_t i = 0; i < command_count; i++) {
		printf("complete -c dwell -f -n __fish_use_subcommand -a %s -d '",
		       commands[i]->name);
		print_quoted(commands[i]->summary, "");
		puts("'");
		if (commands[i]->argp)
			each_option(commands[i]->argp, fish_option, (void *)commands[i]->name);
		if (*arguments(commands[i]))
			printf("complete -c dwell -n '__fish_seen_subcommand_from %s' -a '%s'\n",
			       commands[i]->name, arguments(commands[i]));
	}
}

static const struct {
	const char *name;
	void (*complete)(void);
} shells[] = {
	{"bash", complete_bash},
	{"zsh", complete_zsh},
	{"fish", complete_fish},
};

struct completion {
	struct parsing parsing;
	void (*complete)(void);
};

static const char doc[] = "Writes completions for a shell to standard output."
			  "\v"
			  "Examples:\n"
			  "  dwell completion bash > /etc/bash_completion.d/dwell\n"
			  "  dwell completion zsh > \"${fpath[1]}/_dwell\"\n"
			  "  dwell completion fish > ~/.config/fish/completions/dwell.fish\n";

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct completion *completion = state->input;

	if (!completion)
		return ARGP_ERR_UNKNOWN;
	switch (key) {
	case ARGP_KEY_ARG:
		for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
			if (!strcmp(shells[i].name, value))
				completion->complete = shells[i].complete;
		if (completion->complete)
			return 0;
		return parsing_result(&completion->parsing,
				      parsing_unknown(&completion->parsing.error, "shell", value,
						      "bash, zsh or fish"));
	case ARGP_KEY_END:
		if (completion->complete || completion->parsing.code != EXIT_DONE)
			return 0;
		return parsing_result(&completion->parsing,
				      error_set(&completion->parsing.error, EINVAL,
						"which shell? bash, zsh or fish"));
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp completion_argp = {
	.parser = parse_option, .args_doc = "SHELL", .doc = doc};

static int completion_run(int argc, char **argv)
{
	struct completion completion = {.complete = NULL};
	int code = parsing_run(&completion_argp, "dwell completion", argc, argv, &completion,
			       &completion.parsing);

	if (code == EXIT_DONE)
		completion.complete();
	return code;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "completions for bash, zsh or fish",
	.argp = &completion_argp,
	.run = completion_run,
};
