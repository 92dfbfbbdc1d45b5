// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `dwell completion SHELL`: the shell's side, which asks `dwell completion --words SHELL WORD...`
 * what the last word can be.
 */
#include "command/completion.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/watch_options.h"

static const struct shell {
	const char *name;
	const char *script;
} shells[] = {
#define TEXT(name, text) {name, text},
#include "completions.inc"
#undef TEXT
};

struct completion {
	struct parsing parsing;
	const struct shell *shell;
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
				completion->shell = &shells[i];
		if (completion->shell)
			return 0;
		return parsing_result(&completion->parsing,
				      parsing_unknown(&completion->parsing.error, "shell", value,
						      "bash, zsh or fish"));
	case ARGP_KEY_END:
		if (completion->shell || completion->parsing.code != EXIT_DONE)
			return 0;
		return parsing_result(&completion->parsing,
				      error_set(&completion->parsing.error, EINVAL,
						"which shell? bash, zsh or fish"));
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp completion_argp = {
	.parser = parse_option, .args_doc = "SHELL", .doc = doc};

/* The shell shows no errors: it gets no offers then. */
static int offer_last(const char *shell, char **words, size_t count)
{
	struct offers offers;
	int result = offers_init(&offers, shell, words, count);

	if (result >= 0) {
		complete_words(&offers);
		offers_end(&offers);
		result = output_flush(&offers.out);
	}
	offers_release(&offers);
	return result < 0 ? EXIT_NOT_RUN : EXIT_DONE;
}

static int completion_run(int argc, char **argv)
{
	struct completion completion = {.shell = NULL};
	int code;

	/* hidden, and beside the parser: these words are others' options */
	if (argc > 4 && !strcmp(argv[1], "--words"))
		return offer_last(argv[2], argv + 3, (size_t)argc - 3);
	code = parsing_run(&completion_argp, "dwell completion", argc, argv, &completion,
			   &completion.parsing);
	if (code == EXIT_DONE)
		fputs(completion.shell->script, stdout);
	return code;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "completions for bash, zsh or fish",
	.argp = &completion_argp,
	.argument = ARGUMENT_SHELL,
	.run = completion_run,
};
