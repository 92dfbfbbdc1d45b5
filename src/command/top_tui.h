/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell top` on the screen, live or from a recording. */
#ifndef DWELL_COMMAND_TOP_TUI_H
#define DWELL_COMMAND_TOP_TUI_H

#include "command/top_options.h"

int top_tui_live(struct top_options *options, struct error *error) must_check;
int top_tui_replay(struct top_options *options, struct error *error) must_check;

#endif
