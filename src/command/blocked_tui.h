/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell blocked` on the screen. */
#ifndef DWELL_COMMAND_BLOCKED_TUI_H
#define DWELL_COMMAND_BLOCKED_TUI_H

#include "command/result_options.h"
#include "settings/settings.h"
#include "command/tui.h"
#include "tui/blocked_screen.h"

/* All zeros: not open. */
struct blocked_tui {
	struct tui tui;
	struct blocked_screen *screen;
	struct settings settings;
	struct error complaint; /* of them */
};

int blocked_tui_open(struct blocked_tui *tui, const struct blocked_screen_options *options,
		     const struct result_options *output, struct error *error) must_check;

/* Takes the terminal, until there is something to be seen. */
int blocked_tui_await(struct blocked_tui *tui, struct error *error) must_check;

/* Draws in the loop from now on. */
int blocked_tui_begin(struct blocked_tui *tui, struct loop *loop, struct error *error) must_check;

/* What `stalls` has taken. */
void blocked_tui_stall(struct blocked_tui *tui, const struct stall *stall);
int blocked_tui_interval(struct blocked_tui *tui, const struct interval *interval,
			 struct error *error) must_check;

/* Shows a recording, which has been taken as a whole, until the user has seen enough. */
int blocked_tui_show(struct blocked_tui *tui, const char *remark, struct error *error) must_check;

/* Nothing more comes: shows what there is, until the user has seen enough. */
int blocked_tui_stay(struct blocked_tui *tui, const char *remark, struct error *error) must_check;

void blocked_tui_close(struct blocked_tui *tui);

#endif
