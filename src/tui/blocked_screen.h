/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen of `dwell blocked`: how the workers are, what keeps them, and when. As top_screen.h it
 * knows neither a terminal nor a source.
 */
#ifndef DWELL_TUI_BLOCKED_SCREEN_H
#define DWELL_TUI_BLOCKED_SCREEN_H

#include "model/timeline.h"
#include "tui/canvas.h"
#include "tui/keys.h"

struct blocked_screen;

struct blocked_screen_options {
	struct stalls *stalls;	       /* not owned */
	uint64_t window_ns;	       /* 0: all the time */
	bool replay;		       /* of a recording, which is there as a whole */
	bool glyphs;		       /* bars of signs, instead of colours */
	const struct keymap *keymap;   /* not owned; NULL: none */
	struct starvation *starvation; /* not owned; NULL: not measured */
};

struct blocked_screen *blocked_screen_new(const struct blocked_screen_options *options);
void blocked_screen_free(struct blocked_screen *screen);

/* A stall that `stalls` has taken. */
void blocked_screen_stall(struct blocked_screen *screen, const struct stall *stall);

/* An interval by thread that `stalls` has taken. 0 or -ENOMEM. */
int blocked_screen_interval(struct blocked_screen *screen,
			    const struct interval *interval) must_check;

/* Shows what `stalls` has, unless frozen. 0 or -ENOMEM. */
int blocked_screen_update(struct blocked_screen *screen) must_check;

void blocked_screen_draw(struct blocked_screen *screen, struct canvas *canvas);
enum screen_request blocked_screen_key(struct blocked_screen *screen, struct key key);

/* A line in place of the key hints until the next key. */
void blocked_screen_message(struct blocked_screen *screen, const char *text);

/* On SCREEN_YANK: the selected hotspot and its stack as text. */
void blocked_screen_yank(const struct blocked_screen *screen, struct output *out);

#endif
