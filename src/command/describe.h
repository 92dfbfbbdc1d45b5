/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option tables of all commands, as shell completions and for the manual. */
#ifndef DWELL_COMMAND_DESCRIBE_H
#define DWELL_COMMAND_DESCRIBE_H

#include <stdbool.h>

#include "command/command.h"

/* All of them. */
extern const struct command *const commands[];
extern const size_t command_count;

/* Calls for every option that is shown, those of children too. */
void each_option(const struct argp *argp,
		 void (*call)(const struct argp_option *option, void *data), void *data);

/* Words that the option's value can be, separated by blanks; NULL: anything. Static storage. */
const char *option_choices(const struct argp_option *option);

/* Words that may stand in place of a file; "": none. Static storage. */
const char *argument_choices(const struct command *command);

/* Whether it has a name of one letter too. */
bool option_is_short(const struct argp_option *option);

/* The OPTIONS of a command in man(7) macros, to standard output. */
void describe_manual(const struct command *command);

#endif
