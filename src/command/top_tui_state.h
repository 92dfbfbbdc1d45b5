/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What top_tui.c and top_tui_replay.c share: the screen, and what feeds it. */
#ifndef DWELL_COMMAND_TOP_TUI_STATE_H
#define DWELL_COMMAND_TOP_TUI_STATE_H

#include "command/top_tui.h"
#include "command/tui.h"
#include "session/replay.h"
#include "session/watch.h"
#include "settings/settings.h"
#include "tui/top_screen.h"

struct top_tui {
	struct tui tui;
	struct top_screen *screen;
	struct watch *watch;   /* live; else NULL */
	struct replay *replay; /* of a recording; else NULL */
	struct interval shown; /* the last: its times only */
	bool silent;	       /* on the way to somewhere: nothing is drawn */
	bool ended;	       /* the recording */
	struct settings settings;
	struct error complaint; /* of the settings */
};

/* What the command line does not say, the user's file does. */
void top_tui_settings(struct top_tui *tui, struct top_options *options);

/* Into that file, what the user has chosen on the screen, beside what it had. */
int top_tui_save(struct top_tui *tui, struct error *error) must_check;

int top_tui_open(struct top_tui *tui, const struct top_options *options, uint64_t interval_ns,
		 struct error *error) must_check;
void top_tui_close(struct top_tui *tui);

int top_tui_draw(struct top_tui *tui, struct error *error) must_check;

/* For an audience, whose data is the struct top_tui. */
int top_tui_interval(void *data, struct interval *interval, struct error *error) must_check;

/* Of a recording. The next interval on the screen, also when it is paused; at the end it says so.
 */
int top_tui_step(struct top_tui *tui, struct error *error) must_check;

/* Shows the interval that ends at `time_ns` or, between two, the one after it. */
int top_tui_go_to(struct top_tui *tui, uint64_t time_ns, struct error *error) must_check;

/* The time of day that was typed, on the day of the interval shown. */
int top_tui_seek(struct top_tui *tui, struct error *error) must_check;

#endif
