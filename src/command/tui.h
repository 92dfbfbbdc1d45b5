/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A screen in a terminal, in a loop: draws, reads keys, follows size and suspension. */
#ifndef DWELL_COMMAND_TUI_H
#define DWELL_COMMAND_TUI_H

#include "base/loop.h"
#include "tui/canvas.h"
#include "tui/key.h"
#include "tui/terminal.h"

struct tui {
	void *data;
	void (*draw)(void *data, struct canvas *canvas);
	int (*key)(void *data, struct key key, struct error *error);
	/* the rest is its own */
	struct canvas canvas;
	struct loop *loop;
	bool quit; /* by a key, or the terminal is gone */
};

/* Takes the terminal. */
int tui_open(struct tui *tui, const struct terminal_options *options,
	     struct error *error) must_check;

/* Hears keys and signals in the loop, and draws. */
int tui_begin(struct tui *tui, struct loop *loop, struct error *error) must_check;

int tui_draw(struct tui *tui, struct error *error) must_check;

/* What does not change any more: in a loop of its own, until the user has seen enough. */
int tui_stay(struct tui *tui, struct error *error) must_check;

/* What is said of that. */
#define TUI_COPIED "sent to the clipboard, if the terminal supports OSC 52"

/* Into the clipboard, through the terminal, if it takes that (OSC 52). 0 or -ENOMEM. */
int tui_copy(const char *text, size_t length) must_check;

/* Ends the loop. */
void tui_quit(struct tui *tui);

/* Gives the terminal back. */
void tui_close(struct tui *tui);

#endif
