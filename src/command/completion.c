// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `dwell completion SHELL`: the shell's side, which asks `dwell completion --words SHELL WORD...`
 * what the last word can be.
 */
#include "command/completion.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/parsing.h"

static const struct shell {
	const char *name;
	const char *script;
} shells[] = {
#define TEXT(name, text) {name, text},
#include "completions.inc"
#undef TEXT
};

struct completion {
	const struct shell *shell;
};

static const char text[] = "Writes completions for a shell to standard output."
			   "\v"
			   "Examples:\n"
			   "  dwell completion bash > /etc/bash_completion.d/dwell\n"
			   "  dwell completion zsh > \"${fpath[1]}/_dwell\"\n"
			   "  dwell completion fish > ~/.config/fish/completions/dwell.fish\n";

static int take_shell(void *options, char **rest, bool is_behind_dashes, struct error *error)
{
	struct completion *completion = options;

	(void)is_behind_dashes;
	if (completion->shell)
		return error_set(error, EINVAL, "one shell at a time: %s or %s",
				 completion->shell->name, rest[0]);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(shells[i].name, rest[0]))
			completion->shell = &shells[i];
	return completion->shell ? ARGUMENT_TAKEN
				 : parsing_unknown(error, "shell", rest[0], "bash, zsh or fish");
}

static int end(void *options, struct error *error)
{
	const struct completion *completion = options;

	return completion->shell ? 0 : error_set(error, EINVAL, "which shell? bash, zsh or fish");
}

static const struct command_line completion_line = {
	.arguments = "SHELL", .text = text, .take_argument = take_shell, .end = end};

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
	code = command_line_parse(&completion_line, argc, argv, &completion);
	if (code == EXIT_DONE)
		fputs(completion.shell->script, stdout);
	return code;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "completions for bash, zsh or fish",
	.line = &completion_line,
	.argument = ARGUMENT_SHELL,
	.run = completion_run,
};
