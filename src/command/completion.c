// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell completion SHELL`, from the commands' own tables of options. */
#include "command/completion.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/watch_options.h"

void print_quoted(const char *text, const char *special)
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
