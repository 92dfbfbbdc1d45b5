/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user did: a key, the mouse, or a new size. */
#ifndef DWELL_TUI_KEY_H
#define DWELL_TUI_KEY_H

#include <stdint.h>

enum key_kind {
	KEY_KIND_NONE = 0,
	KEY_KIND_CHARACTER, /* `character` */
	KEY_KIND_UP,
	KEY_KIND_DOWN,
	KEY_KIND_LEFT,
	KEY_KIND_RIGHT,
	KEY_KIND_PAGE_UP,
	KEY_KIND_PAGE_DOWN,
	KEY_KIND_HOME,
	KEY_KIND_END,
	KEY_KIND_ENTER,
	KEY_KIND_ESCAPE,
	KEY_KIND_BACKSPACE,
	KEY_KIND_CHANGES_PROCESS, /* F7 to F9: nice and kill, in htop */
	KEY_KIND_CLICK,		  /* at `row`, `column` */
	KEY_KIND_WHEEL_UP,
	KEY_KIND_WHEEL_DOWN,
	KEY_KIND_CLOSED, /* the terminal is gone */
};

struct key {
	enum key_kind kind;
	uint32_t character; /* Unicode */
	int row, column;
};

#endif
