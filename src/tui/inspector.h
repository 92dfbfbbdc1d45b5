/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the inspector's two sizes share; for them only. */
#ifndef DWELL_TUI_INSPECTOR_H
#define DWELL_TUI_INSPECTOR_H

#include "tui/top_state.h"

#define REASONS_MAX 64
#define PAST_LINES  8

extern const char *const inspector_delay_keys[WIRE_DELAYS_COUNT];

/* A line of its own. */
void inspector_draw_who(const struct top_screen *screen, struct canvas *canvas, int row,
			const struct row *what, const struct history_item *item);

void inspector_draw_switches(struct canvas *canvas, int row, int column, const struct row *sum,
			     const struct session_info *session);

/* The last intervals, oldest first, as stacked columns of `height` cells. */
void inspector_draw_past(struct canvas *canvas, int row, int column, int height, int width,
			 const struct history_item *item);

/* Of a row, longest first; those of a process's threads summed up. Returns how many. */
size_t inspector_reasons(const struct top_screen *screen, const struct row *what,
			 struct wire_reason into[REASONS_MAX]);

/* NULL: none. */
const struct wire_delays *inspector_delays(const struct top_screen *screen, const struct row *what);

/* inspector_full.c */
void inspector_draw_full(const struct top_screen *screen, struct canvas *canvas, int first,
			 int count, const struct row *what, const struct history_item *item);
/* The same from screen->full_offset on, below the line that says of whom. Returns the offset. */
int inspector_draw_scrolled(const struct top_screen *screen, struct canvas *canvas, int first,
			    int count, const struct row *what, const struct history_item *item);

#endif
