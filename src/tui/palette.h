/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours by role, for what the terminal can show and for its background. */
#ifndef DWELL_TUI_PALETTE_H
#define DWELL_TUI_PALETTE_H

#include <stdbool.h>

#include "tui/canvas.h"

enum theme {
	THEME_AUTO, /* the terminal is asked for its background; dark, where it does not answer */
	THEME_DARK,
	THEME_LIGHT,
	THEME_MONO, /* as with NO_COLOR */
	THEMES_COUNT,
};

extern const char *const theme_keys[THEMES_COUNT];

struct palette {
	/* of the terminal's colours: by index; -1: its own foreground, or background */
	short text[ROLE_COUNT];
	short bar[STATES];
	bool few;	    /* roles have no colours: they differ by their attributes */
	short selected;	    /* background of the selected row; -1: it is drawn in reverse */
	bool solid[STATES]; /* its bar is a block: no other has its colour */
};

/*
 * For a terminal with so many colours (0: none, 8, 16, 256; more as 256), dark or light (not auto).
 */
void palette_init(struct palette *palette, int colours, enum theme theme);

#endif
