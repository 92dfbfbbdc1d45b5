/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A screen in a terminal, in a loop: draws, reads keys, follows size and suspension. */
#ifndef DWELL_COMMAND_TUI_H
#define DWELL_COMMAND_TUI_H

#include "base/loop.h"
#include "command/result_options.h"
#include "settings/settings.h"
#include "tui/canvas.h"
#include "tui/key.h"
#include "tui/keys.h"
#include "tui/terminal.h"

struct tui {
	void *data;
	void (*draw)(void *data, struct canvas *canvas);
	int (*key)(void *data, struct key key, struct error *error);
	/* of tui_obey(): what is selected, or nothing; a line for the user */
	void (*yank)(void *data, struct output *into);
	void (*message)(void *data, const char *text);
	/* the rest is its own */
	struct canvas canvas;
	struct loop *loop;
	bool quit; /* by a key, or the terminal is gone */
};

/*
 * Whether a screen can open, where no format was asked for. If it is just that the terminal's kind
 * is not known, says so: else tables would come without a word why.
 */
bool tui_can_open(const char *command);

/* Takes the terminal. */
int tui_open(struct tui *tui, const struct terminal_options *options,
	     struct error *error) must_check;

/* Hears keys and signals in the loop, and draws. */
int tui_begin(struct tui *tui, struct loop *loop, struct error *error) must_check;

int tui_draw(struct tui *tui, struct error *error) must_check;

/* What does not change any more: in a loop of its own, until the user has seen enough. */
int tui_stay(struct tui *tui, struct error *error) must_check;

/* What a key of a screen asks for, as far as all screens have it. */
int tui_obey(struct tui *tui, enum screen_request request, struct error *error) must_check;

/* The user's settings, and what the command line says. With what is wrong in them, or "". */
void tui_settings(struct settings *settings, const struct result_options *output,
		  struct error *ret_complaint);

/* Ends the loop. */
void tui_quit(struct tui *tui);

/* Gives the terminal back. */
void tui_close(struct tui *tui);

#endif
