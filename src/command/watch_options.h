/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to watch, how long and from which source: options that several commands share. */
#ifndef DWELL_COMMAND_WATCH_OPTIONS_H
#define DWELL_COMMAND_WATCH_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/watch.h"

/* A mistake in a command line, kept until parsing has come to its end. */
struct parsing {
	struct error error;
	int code; /* exit status of the first mistake; EXIT_DONE = none */
};

/* For the parser of a command: child_inputs[] of `watch_argp`. */
struct watch_parsing {
	struct watch_options *options;
	struct parsing *parsing;
};

/* As a child of a command's argp. Takes `-- COMMAND` too. */
extern const struct argp watch_argp;

void watch_options_init(struct watch_options *options);

/* -h, which is not listed. True: that was it. */
bool parsing_helps(int key, struct argp_state *state);

/* A process by its name, as an argument: the message also says how to run a program. */
int parsing_name(struct targets *targets, const char *name, struct error *error) must_check;

/*
 * What a parser returns for the result of taking an option: negative errnos become the mistake, 1
 * is another parser's option. A missing file or process is no mistake in the command line: exit 1,
 * not 2.
 */
error_t parsing_result(struct parsing *parsing, int result);

/*
 * "unknown WHAT 'VALUE'; did you mean 'CHOICE'?", or "…: use CHOICES", as similar_choice() takes
 * them; -EINVAL.
 */
int parsing_unknown(struct error *error, const char *what, const char *value, const char *choices);

/* A number from 1 up. */
int parsing_count(const char *text, const char *option, uint64_t *ret_count,
		  struct error *error) must_check;

/*
 * Parses a whole command line, with `program` ("dwell top") for its messages. EXIT_DONE, or the
 * exit status to end with: the mistake has been printed.
 */
int parsing_run(const struct argp *argp, const char *program, int argc, char **argv, void *input,
		struct parsing *parsing);

#endif
