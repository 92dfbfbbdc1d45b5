/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which part of a recording a command is about. */
#ifndef DWELL_COMMAND_WINDOW_OPTIONS_H
#define DWELL_COMMAND_WINDOW_OPTIONS_H

#include "capture/recording.h"
#include "cli/command_line.h"

/* --since and --until, of a struct recording_window. */
extern const struct command_option window_option_table[];

/* Whether it is less than all. */
bool window_is_part(const struct recording_window *window);

#endif
