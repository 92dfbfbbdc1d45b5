/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option tables of all commands, for completions and the manual. */
#ifndef DWELL_COMMAND_DESCRIBE_H
#define DWELL_COMMAND_DESCRIBE_H

#include <stdbool.h>

#include "command/command.h"

/* All of them. */
extern const struct command *const commands[];
extern const size_t command_count;

/* The OPTIONS of a command in man(7) macros, to standard output. */
void describe_manual(const struct command *command);

#endif
