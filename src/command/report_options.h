/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell report`. */
#ifndef DWELL_COMMAND_REPORT_OPTIONS_H
#define DWELL_COMMAND_REPORT_OPTIONS_H

#include "cli/command_line.h"

/* Fills a struct report (command/report_page.h). */
extern const struct command_line report_line;

#endif
