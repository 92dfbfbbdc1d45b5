/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the top screen share; for them only. */
#ifndef DWELL_TUI_TOP_STATE_H
#define DWELL_TUI_TOP_STATE_H

#include "model/blame_losses.h"
#include "model/findings.h"
#include "model/history.h"
#include "model/reason_marks.h"
#include "tui/canvas.h"
#include "tui/keys.h"
#include "tui/top_screen.h"
#include "view/fields.h"

enum prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_SEARCH,
	PROMPT_INTERVAL,
	PROMPT_TIME,
};

/* A heading on the screen: a click sorts by its field. */
struct heading {
	int from, to; /* columns: [from, to) */
	const struct field *field;
};

#define HEADINGS_MAX 32

struct top_screen {
	struct top_screen_options options;
	/* the interval on the screen: rows as they came, or summed up */
	struct interval interval;
	const struct intervals *intervals;
	struct row *rows; /* one of the next two */
	struct row *threads, *sums;
	size_t thread_count, row_count, thread_room, sum_room;
	uint64_t seen_ns[STATES];   /* of all threads, in all intervals */
	uint64_t recent_ns[STATES]; /* the same, of which a quarter fades with each interval */
	enum state most;	    /* that took more than half of it; STATES: none did */
	int columns_calm[STATES];  /* intervals for which a state's column stays; 0: it is hidden */
	struct ordered_row *order; /* of the rows that pass the filter */
	uint8_t *depths;	   /* of the order, as a tree */
	size_t order_count, order_room, depth_room;
	struct wire_reason *reasons; /* since the history began */
	size_t reason_count, reason_room;
	struct reason_marks reason_marks;
	struct reason_base reason_base; /* when it began */
	struct blame *grouped_blames;	/* of `rows`: one of the next two */
	struct blame *blames, *summed_blames;
	size_t blame_count, grouped_count, blame_room, summed_room;
	/* those of lost states: of a victim together, the largest first */
	const struct blame **by_victim;
	size_t by_victim_count, by_victim_room;
	struct blame_losses losses; /* of the grouped, while the table shows them */
	struct findings findings;
	int finding_lines, quiet_intervals; /* so the table does not jump with each interval */
	struct history history;
	/* what the user has chosen */
	enum grouping by;
	bool tree; /* of processes: by BY_PROCESS */
	const struct field *sort;
	bool reverse, frozen, help, full, hide_idle, all_columns, glyphs;
	enum blame_side blame; /* shown in place of the rows */
	bool follow;	       /* the selected row, wherever it moves */
	struct identity selected;
	bool has_selection;
	size_t index;		      /* of the selected row in the order, or of the loss */
	size_t loss_index;	      /* while all about its party is shown */
	size_t offset;		      /* first row shown */
	int help_offset, full_offset; /* lines scrolled */
	char filter[TYPED_BYTES], search[TYPED_BYTES];
	size_t found_from; /* where the line was when the search began */
	enum prompt prompt;
	char typed[TYPED_BYTES];
	char message[256];
	char program[512]; /* of the selected process; empty: not known */
	unsigned int seek_seconds;
	uint64_t interval_ns;
	/* as last drawn, for the mouse */
	int first_line, line_count, columns_left_out;
	bool says_left_out; /* `z` was pressed */
	int page_lines;	    /* that a page key moves by, so that nothing is passed over */
	struct hints hints;
	struct heading headings[HEADINGS_MAX];
	size_t heading_count;
};

/* The selected row, or that of the selected loss; NULL: none, or it is not there any more. */
const struct row *top_selected(const struct top_screen *screen);

/* How many lines the table has to show. */
size_t top_line_count(const struct top_screen *screen);

/* Whether name, process, cgroup or number of a row contain a text, in any case. */
bool top_matches(const struct top_screen *screen, const struct row *row, const char *text);
bool top_contains(const char *text, const char *part);
/* The same of the line of this number, which may be a loss. */
bool top_line_matches(const struct top_screen *screen, size_t line, const char *text);

/* Losses are shown: who lost time, or who cost it. */
bool top_shows_losses(const struct top_screen *screen);

/* top_screen.c: sorts and filters again, and finds the selected row again. */
int top_arrange(struct top_screen *screen) must_check;

/* top_keys.c: back to the table, or to the losses. */
void top_leave_full(struct top_screen *screen);

/* Groups the rows again, by screen->by. */
int top_regroup(struct top_screen *screen, enum grouping was) must_check;

/* top_tree.c: the order, which is sorted, as a tree of parents and children, with depths. */
int top_order_tree(struct top_screen *screen) must_check;

/* top_header.c */
#define TOP_HEADER_LINES 2
void top_draw_header(const struct top_screen *screen, struct canvas *canvas);
void top_draw_findings(const struct top_screen *screen, struct canvas *canvas, int first,
		       int count);

/* top_table.c */
void top_draw_table(struct top_screen *screen, struct canvas *canvas, int first, int count);

/* top_columns.c: what a row has on a line. */
enum top_column_kind {
	TOP_COLUMN_NAME, /* number, name, threads: always there */
	TOP_COLUMN_BAR,
	TOP_COLUMN_STATE,
	TOP_COLUMN_P99,
	TOP_COLUMN_SORT, /* active time; or what rows are sorted by, if no other column has it */
	TOP_COLUMN_NOW,
	TOP_COLUMN_BLAME,
	TOP_COLUMN_CGROUP,
};

struct top_column {
	enum top_column_kind kind;
	enum state state;	   /* TOP_COLUMN_STATE */
	const struct field *field; /* to sort by; NULL: none */
	const char *heading;
	int width;
	bool left; /* aligned */
};

#define TOP_COLUMNS_MAX (STATES + 6)

struct top_columns {
	int name_width; /* of the name alone */
	int name;	/* columns that number, name and how many threads take */
	char sort_heading[24];
	int left_out; /* columns of states there is not room for */
	struct top_column items[TOP_COLUMNS_MAX];
	size_t count;
};

void top_columns_plan(struct top_columns *into, const struct top_screen *screen, int columns);

/* top_blame.c */
int top_find_losses(struct top_screen *screen) must_check;
/* After blame was grouped. */
int top_index_blame(struct top_screen *screen) must_check;
bool top_loss_matches(const struct top_screen *screen, const struct blame_loss *loss,
		      const char *text);
/* That of the selected loss; NULL: none. */
const struct row *top_loss_row(const struct top_screen *screen);
void top_draw_blame_table(struct top_screen *screen, struct canvas *canvas, int first, int count);
/* Because of whom the row lost most: `lock http-4, disk`. */
void top_draw_blame(const struct top_screen *screen, struct canvas *canvas, int row, int column,
		    int width, const struct row *what);
/* All of it, in lines up to `last`; returns the line behind them. */
int top_draw_blames(const struct top_screen *screen, struct canvas *canvas, int row, int column,
		    int last, const struct row *what);

/*
 * inspector.c: `count` lines from `first`; with enough of them, everything there is to know.
 * Returns how many lines everything is scrolled, which is not below its end.
 */
int top_draw_inspector(const struct top_screen *screen, struct canvas *canvas, int first,
		       int count);

/* top_keys.c, made from the table of keys */
int top_draw_help(const struct top_screen *screen, struct canvas *canvas);
void top_draw_hints(struct top_screen *screen, struct canvas *canvas, int row);

#endif
