/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option tables of all commands, for completions and the manual. */
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

/* Whether it has a name of one letter too. */
bool option_is_short(const struct argp_option *option);

/* The OPTIONS of a command in man(7) macros, to standard output. */
void describe_manual(const struct command *command);

#endif
