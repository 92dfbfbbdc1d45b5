/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of keys: the one place behind what keys do, the hints, and the help. Also a line to type
 * in. */
#ifndef DWELL_TUI_KEYS_H
#define DWELL_TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/canvas.h"
#include "tui/key.h"

/* What the user asks of the code that feeds a screen. */
enum screen_request {
	SCREEN_NOTHING,
	SCREEN_REDRAW,
	SCREEN_QUIT,
	SCREEN_SELECTED, /* another row */
	SCREEN_INTERVAL, /* another interval */
	SCREEN_REPAINT,	 /* all of it, over what others have written there */
	SCREEN_YANK,	 /* text to the clipboard */
	SCREEN_SAVE,	 /* what the user has chosen, to the file of settings */
	/* of a recording */
	SCREEN_PAUSE, /* or go on */
	SCREEN_FORWARD,
	SCREEN_BACK,
	SCREEN_SEEK,
};

enum binding_flag {
	BINDING_REPLAY = 1 << 0, /* only with a recording */
	BINDING_KEPT = 1 << 1,	 /* its hint has room on narrow screens too, before others */
	BINDING_LAST = 1 << 2,	 /* the one that is left where there is no room for two */
};

struct binding {
	const char *keys; /* as shown */
	const char *hint; /* one word for the last line; NULL = only in the help */
	const char *help;
	enum key_kind kind; /* KEY_KIND_CHARACTER: any of `characters` */
	const char *characters;
	enum screen_request (*act)(void *screen, uint32_t character);
	unsigned int flags; /* enum binding_flag */
};

/* What the first line of the screen says. */
struct help_word {
	const char *word, *help;
};

struct bindings {
	const struct binding *items;
	size_t count;
	const struct help_word *words;
	size_t word_count;
};

/* Defines `static enum screen_request name(void *screen, uint32_t character)` for a type of screen.
 */
#define SCREEN_ACTION(type, name)                                                                  \
	static enum screen_request do_##name(type *screen, uint32_t character);                    \
	static enum screen_request name(void *screen, uint32_t character)                          \
	{                                                                                          \
		return do_##name(screen, character);                                               \
	}                                                                                          \
	static enum screen_request do_##name(__attribute__((unused)) type *screen,                 \
					     __attribute__((unused)) uint32_t character)

/* Keys of the user's own: the character typed to the one it stands for; 0: itself. */
#define KEYMAP_SIZE 128
struct keymap {
	char instead[KEYMAP_SIZE];
};

/* Does what is bound to the key, if anything is. `keymap` may be NULL. */
enum screen_request bindings_act(const struct bindings *bindings, void *screen, struct key key,
				 bool replay, const struct keymap *keymap);

/* Where the hints are, for the mouse. All zeros: there are none. */
#define HINTS_MAX 24
struct hints {
	int row;
	size_t count;
	struct {
		int from, to; /* columns */
		const struct binding *binding;
	} items[HINTS_MAX];
};

/* Does what the hint under the mouse says, as its first key. */
enum screen_request hints_click(const struct hints *hints, void *screen, struct key key);

/* For the screens' messages. */
#define CHANGES_NO_PROCESS "dwell watches only: nice and kill are in htop"

#define HELP_END	   (1 << 20) /* behind any: help_draw() takes what there is */

/*
 * The keys, the states with their signs, and the words of the first line, on all but the last row,
 * from line `offset` on; beside each other where there is room. Returns the offset, which is
 * corrected where it is too large.
 */
int help_draw(const struct bindings *bindings, struct canvas *canvas, bool replay, int offset);

#define TYPED_BYTES 64

enum typing {
	TYPING_IGNORED,
	TYPING_CHANGED,
	TYPING_ACCEPTED,
	TYPING_CANCELLED,
};

/* What a key does to a line of text. */
enum typing typing_key(char typed[TYPED_BYTES], struct key key);

/*
 * The last line of a screen: what is being typed, and what is said of it; else a message; else
 * hints, as many as fit, and at the right end what the user has chosen.
 */
struct last_line {
	const char *question, *typed; /* NULL: nothing is asked */
	const char *message;	      /* "": none; beside what is typed, or in place of hints */
	const char *chosen;
	enum role role; /* of what is chosen */
	bool replay;
};

void last_line_draw(const struct bindings *bindings, struct canvas *canvas, int row,
		    const struct last_line *line, struct hints *ret_hints);

/*
 * The same of a screen whose one question is what to search for; `search`: what it shows now,
 * `found`: what that is, "" where the screen says it itself.
 */
#define FOUND_BYTES 48
void search_line_draw(const struct bindings *bindings, struct canvas *canvas, int row,
		      struct last_line line, const char *search, const char *found,
		      struct hints *ret_hints);

#endif
