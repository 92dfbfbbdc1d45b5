/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal, through curses. However the program ends, by a crash too, the terminal gets back
 * the state it had. One at a time: curses knows only one.
 */
#ifndef DWELL_TUI_TERMINAL_H
#define DWELL_TUI_TERMINAL_H

#include "base/error.h"
#include "tui/canvas.h"
#include "tui/key.h"
#include "tui/palette.h"

struct terminal_options {
	enum theme theme;
	bool glyphs; /* bars of signs instead of colours */
};

/*
 * Needs a terminal on standard input and output, and a TERM that terminfo knows: else -ENOTTY with
 * what to do.
 */
int terminal_open(const struct terminal_options *options, struct error *error) must_check;
void terminal_close(void);

/* Whether terminal_open() would go well. */
enum terminal_use {
	TERMINAL_USABLE,
	TERMINAL_UNKNOWN, /* there is one, but TERM does not say which, or terminfo has no such */
	TERMINAL_NONE,	  /* or one that cannot move its cursor */
};

enum terminal_use terminal_use(void);

/* Empties the canvas and gives it the terminal's present size. */
int terminal_prepare(struct canvas *canvas) must_check;
void terminal_show(const struct canvas *canvas);

/* The size has changed (SIGWINCH). */
void terminal_resized(void);

/* Gives the terminal back, stops the process (SIGTSTP), and takes it again when it goes on. */
void terminal_suspend(void);

/* Call when standard input is readable, until it returns KEY_KIND_NONE. */
struct key terminal_key(void);

/* Bytes to the terminal past curses: title, clipboard. */
void terminal_write(const char *bytes);

#endif
