/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command line of dwell writes to, read by the command's own table of options. */
#ifndef DWELL_COMMAND_OUTPUTS_H
#define DWELL_COMMAND_OUTPUTS_H

#include "command/command.h"
#include "guest/pulled_files.h"

/*
 * Adds the files and directories that options of the command `arguments[0]` name as its output,
 * relative to the directory `from`. Of no command of dwell, or of a command line that it would
 * refuse, what can be recognized: nothing. -ENOMEM.
 */
int outputs_add(struct pulled_files *pulled, const char *from, char **arguments) must_check;

#endif
