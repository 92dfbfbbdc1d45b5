/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of parts, the most important first: what does not fit is left out, never cut. */
#ifndef DWELL_TUI_PARTS_H
#define DWELL_TUI_PARTS_H

#include "tui/canvas.h"

struct parts {
	struct canvas *canvas;
	int row, at, end; /* `at`: where the next begins */
};

/* Columns of a text. */
int parts_width(const struct canvas *canvas, const char *text);

bool parts_fit(const struct parts *parts, int width);

__attribute__((format(printf, 3, 4))) void parts_add(struct parts *parts, enum role role,
						     const char *format, ...);

#endif
