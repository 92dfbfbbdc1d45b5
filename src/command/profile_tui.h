/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell profile` on the screen. */
#ifndef DWELL_COMMAND_PROFILE_TUI_H
#define DWELL_COMMAND_PROFILE_TUI_H

#include "command/result_options.h"
#include "command/tui.h"
#include "settings/settings.h"
#include "tui/profile_screen.h"

/* All zeros: not open. */
struct profile_tui {
	struct tui tui;
	struct profile_screen *screen;
	struct settings settings;
};

/* Takes the terminal. */
int profile_tui_open(struct profile_tui *tui, const struct profile_screen_options *options,
		     const struct result_options *output, struct error *error) must_check;

/* Shows what the profile has now. */
int profile_tui_update(struct profile_tui *tui, struct error *error) must_check;

/* Nothing more comes: until the user has seen enough. `remark` may be NULL. */
int profile_tui_stay(struct profile_tui *tui, const char *remark, struct error *error) must_check;

void profile_tui_close(struct profile_tui *tui);

#endif
