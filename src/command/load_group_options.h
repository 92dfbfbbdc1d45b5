/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of `dwell load` that make a spec without a file: --work, and what follows it. */
#ifndef DWELL_COMMAND_LOAD_GROUP_OPTIONS_H
#define DWELL_COMMAND_LOAD_GROUP_OPTIONS_H

#include "cli/command_line.h"

/* Of a struct spec. */
extern const struct command_option load_group_option_table[];

#endif
