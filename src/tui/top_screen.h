/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen of `dwell top`: what it has been shown, what the user has chosen, and how to draw
 * both. Knows neither a terminal nor a source: keys and intervals come in, cells and requests go
 * out.
 */
#ifndef DWELL_TUI_TOP_SCREEN_H
#define DWELL_TUI_TOP_SCREEN_H

#include "base/error.h"
#include "model/blame_side.h"
#include "model/interval.h"
#include "tui/canvas.h"
#include "tui/keys.h"
#include "view/fields.h"

struct top_screen;

struct top_screen_options {
	enum grouping by;
	const struct field *sort;
	bool reverse;
	uint64_t interval_ns;
	size_t top;  /* rows at most; 0: all */
	bool replay; /* of a recording: it can be paused, stepped through, and has an end */
	bool tree;   /* processes below their parents; by BY_PROCESS */
	bool hide_idle, all_columns, glyphs;
	enum blame_side blame;	     /* begin with it */
	const struct keymap *keymap; /* not owned; NULL: none */
};

struct top_screen *top_screen_new(const struct top_screen_options *options); /* NULL: no memory */
void top_screen_free(struct top_screen *screen);

/* An interval by thread, which is copied. 0 or -ENOMEM. */
int top_screen_update(struct top_screen *screen, const struct intervals *intervals,
		      const struct interval *interval) must_check;

void top_screen_draw(struct top_screen *screen, struct canvas *canvas);
enum screen_request top_screen_key(struct top_screen *screen, struct key key);

/* A line in place of the key hints until the next key, as "end of the recording". */
void top_screen_message(struct top_screen *screen, const char *text);

/* Of the selected process, for the inspector: any bytes. */
void top_screen_program(struct top_screen *screen, const char *line);

uint32_t top_screen_selected_pid(const struct top_screen *screen); /* 0: none */
uint64_t top_screen_interval_ns(const struct top_screen *screen);
bool top_screen_paused(const struct top_screen *screen);
void top_screen_pause(struct top_screen *screen, bool paused);

/* Seconds since midnight, local time; the day is that of the interval shown. */
unsigned int top_screen_seek_seconds(const struct top_screen *screen);

/* What the user has chosen since, to be kept. */
void top_screen_options(const struct top_screen *screen, struct top_screen_options *ret_options);

/* Forgets what was seen: what comes next is from another time. */
void top_screen_restart(struct top_screen *screen);

#endif
