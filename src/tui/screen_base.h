/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What screens with one search have in common: help, the line that is typed, messages, hints. */
#ifndef DWELL_TUI_SCREEN_BASE_H
#define DWELL_TUI_SCREEN_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/keys.h"

/* The first member of such a screen: a pointer to one is one to the other. */
struct screen_base {
	bool replay;		     /* of a recording */
	const struct keymap *keymap; /* not owned; NULL: none */
	bool help, typing;
	int help_offset, help_page; /* lines; as last drawn */
	char filter[TYPED_BYTES];
	char found[FOUND_BYTES]; /* of the filter, for the last line; "": nothing is said */
	char typed[TYPED_BYTES];
	char message[256];
	struct hints hints; /* as last drawn */
};

/* What each does its own way. */
struct screen_keys {
	const struct bindings *bindings;
	enum screen_request (*search)(void *screen); /* `filter` has changed */
	enum screen_request (*click)(void *screen, struct key key);
	enum screen_request (*move)(void *screen, int by);
};

/* The next key; the search applies while it is typed. */
enum screen_request screen_base_key(struct screen_base *base, const struct screen_keys *keys,
				    struct key key);

/* Where the help begins: its line, or HELP_END. */
enum screen_request screen_base_move_help(struct screen_base *base, int offset);

void screen_base_message(struct screen_base *base, const char *text);
void screen_base_draw_hints(struct screen_base *base, const struct bindings *bindings,
			    struct canvas *canvas, int row);
void screen_base_draw_help(struct screen_base *base, const struct bindings *bindings,
			   struct canvas *canvas);

/* For the tables of keys: binding.act. */
enum screen_request screen_base_help(void *screen, uint32_t character);
enum screen_request screen_base_quit(void *screen, uint32_t character);
enum screen_request screen_base_repaint(void *screen, uint32_t character);
enum screen_request screen_base_yank(void *screen, uint32_t character);
enum screen_request screen_base_changes_process(void *screen, uint32_t character);

#endif
