/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetching debug files before a command measures. */
#ifndef DWELL_COMMAND_DEBUG_FILES_H
#define DWELL_COMMAND_DEBUG_FILES_H

#include "capture/stack_options.h"
#include "capture/target.h"

/*
 * Those of the processes and threads that are watched, from debuginfod, if the user has set it: see
 * debug_files_fetch(). Shows on a terminal how far it is. What cannot be fetched is a remark on
 * standard error, of `program`: the command works without.
 */
void command_fetch_debug_files(const char *program, const struct targets *targets,
			       const struct stack_options *options);

#endif
