/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen of `dwell profile`: where time went as a flame graph, by code and by thread. As
 * top_screen.h it knows neither a terminal nor a source.
 */
#ifndef DWELL_TUI_PROFILE_SCREEN_H
#define DWELL_TUI_PROFILE_SCREEN_H

#include "tui/canvas.h"
#include "tui/keys.h"
#include "view/flames.h"

struct profile_screen;

struct profile_screen_options {
	struct profile_result *result; /* what grows as it is measured; not owned */
	enum profile_root root;
	bool replay;		     /* of a recording, which is there as a whole */
	bool glyphs;		     /* bars of signs, instead of colours */
	const struct keymap *keymap; /* not owned; NULL: none */
};

struct profile_screen *profile_screen_new(const struct profile_screen_options *options);
void profile_screen_free(struct profile_screen *screen);

/* Shows what the profile has, unless frozen. 0 or -ENOMEM. */
int profile_screen_update(struct profile_screen *screen) must_check;

/* Nothing more comes. */
void profile_screen_end(struct profile_screen *screen);

void profile_screen_draw(struct profile_screen *screen, struct canvas *canvas);
enum screen_request profile_screen_key(struct profile_screen *screen, struct key key);

/* A line in place of the key hints until the next key. */
void profile_screen_message(struct profile_screen *screen, const char *text);

/* On SCREEN_YANK: what is selected, with the way to it, as text. */
void profile_screen_yank(const struct profile_screen *screen, struct output *out);

#endif
