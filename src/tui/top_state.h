/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the top screen share; for them only. */
#ifndef DWELL_TUI_TOP_STATE_H
#define DWELL_TUI_TOP_STATE_H

#include "model/history.h"
#include "tui/canvas.h"
#include "tui/top_screen.h"
#include "view/fields.h"

enum prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_INTERVAL,
	PROMPT_TIME,
};

struct top_screen {
	struct top_screen_options options;
	/* the interval on the screen: rows as they came, and grouped */
	struct interval interval;
	const struct intervals *intervals;
	struct row *threads, *rows;
	size_t thread_count, row_count, thread_room, row_room;
	struct ordered_row *order; /* of the rows that pass the filter */
	size_t order_count, order_room;
	struct wire_reason *reasons;
	size_t reason_count, reason_room;
	struct history history;
	/* what the user has chosen */
	enum grouping by;
	const struct field *sort;
	bool reverse, frozen, help, full, hide_idle;
	struct identity selected;
	bool has_selection;
	size_t index;  /* of the selected row in the order */
	size_t offset; /* first row shown */
	char filter[TYPED_BYTES];
	enum prompt prompt;
	char typed[TYPED_BYTES];
	char message[128];
	unsigned int seek_seconds;
	uint64_t interval_ns;
	/* as last drawn, for the mouse */
	int first_line, line_count;
};

/* The selected row; NULL: none, or it is not there any more. */
const struct row *top_selected(const struct top_screen *screen);

/* top_screen.c: sorts and filters again, and finds the selected row again. */
int top_arrange(struct top_screen *screen) must_check;

/* Groups the rows again, by screen->by. */
int top_regroup(struct top_screen *screen) must_check;

/* top_table.c */
void top_draw_header(const struct top_screen *screen, struct canvas *canvas);
void top_draw_table(struct top_screen *screen, struct canvas *canvas, int first, int count);

/* inspector.c: `count` lines from `first`; with enough of them, everything there is to know. */
void top_draw_inspector(const struct top_screen *screen, struct canvas *canvas, int first,
			int count);

/* top_keys.c, made from the table of keys */
void top_draw_help(const struct top_screen *screen, struct canvas *canvas);
void top_draw_hints(const struct top_screen *screen, struct canvas *canvas, int row);

#endif
