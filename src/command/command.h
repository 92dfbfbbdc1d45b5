/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Subcommands: one file each, one line in COMMANDS. */
#ifndef DWELL_COMMAND_COMMAND_H
#define DWELL_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/exit_code.h"
#include "base/output.h"
#include "cli/command_line.h"
#include "cli/finish.h"

#define COMMAND_OUTPUTS 2

/* What it takes beside options; command_line.arguments says so to people. */
enum argument {
	ARGUMENT_NONE,
	ARGUMENT_PROCESS, /* a name, or `-- COMMAND` */
	ARGUMENT_COMMAND, /* `-- COMMAND` alone */
	ARGUMENT_FILE,
	ARGUMENT_SCENARIO, /* or a file */
	ARGUMENT_SHELL,
};

struct command {
	const char *name;
	const char *summary; /* for `dwell --help` */
	const struct command_line *line;
	enum argument argument;
	bool has_screen; /* --format tui */
	/* Names of the options whose argument is a FILE or DIRECTORY that it writes. */
	const char *outputs[COMMAND_OUTPUTS + 1];
	const char *output; /* the file that it writes without them; NULL: none */
	/* argv[0] is the command's own name. Returns an enum exit_code. */
	int (*run)(int argc, char **argv);
};

/* All there are, in the order of `dwell --help`. */
#define COMMANDS(X)                                                                                \
	X(top)                                                                                     \
	X(blocked)                                                                                 \
	X(load)                                                                                    \
	X(guest)                                                                                   \
	X(record)                                                                                  \
	X(report)                                                                                  \
	X(compare)                                                                                 \
	X(doctor)                                                                                  \
	X(verify)                                                                                  \
	X(profile)                                                                                 \
	X(serve)                                                                                   \
	X(completion)                                                                              \
	X(schema)

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X

/* Finds the command in argv[1], or handles --help and --version. Returns an enum exit_code. */
int command_main(int argc, char **argv);

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);

/* -EINVAL: there is none; the error says which was meant. */
int command_check(const char *name, struct error *error) must_check;

/* `dwell --help`: the list of them. */
void commands_print(FILE *to);

#endif
