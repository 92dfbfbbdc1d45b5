/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Subcommands: one file each, one line in the table of command.c. */
#ifndef DWELL_COMMAND_COMMAND_H
#define DWELL_COMMAND_COMMAND_H

#include <stdbool.h>

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

extern const struct command command_top, command_blocked, command_load, command_guest,
	command_record, command_report, command_compare, command_doctor, command_verify,
	command_profile, command_serve, command_completion, command_schema;

/* Finds the command in argv[1], or handles --help and --version. Returns an enum exit_code. */
int command_main(int argc, char **argv);

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);

/* -EINVAL: there is none; the error says which was meant. */
int command_check(const char *name, struct error *error) must_check;

#endif
