/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a screen draws on: a grid of characters with roles. A terminal shows it in colours, a test
 * reads it as text; so screens know neither.
 */
#ifndef DWELL_TUI_CANVAS_H
#define DWELL_TUI_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/output.h"
#include "model/state.h"

/* What a cell means; the terminal decides how that looks. */
enum role {
	ROLE_NORMAL = 0,
	ROLE_TITLE,
	ROLE_HEADER, /* column headings */
	ROLE_SORTED, /* the heading of the column that rows are sorted by */
	ROLE_DIM,
	ROLE_WARNING,
	ROLE_KEY,     /* a key in help texts */
	ROLE_FINDING, /* a sentence that says what is wrong */
	ROLE_STATE,   /* + enum state */
	ROLE_COUNT = ROLE_STATE + STATES,
};

struct cell {
	uint32_t character; /* Unicode; 0 = the right half of a wide one */
	uint8_t role;	    /* enum role */
	bool bar;	    /* a state's part of a bar, in the colour of bars */
	bool selected;	    /* set off from other rows, in any role */
	bool filled;	    /* the colour of its role is the ground, not the character */
};

struct canvas {
	int rows, columns;
	bool ascii;	    /* the terminal shows no other characters */
	bool solid[STATES]; /* in bars a block, by its colour; else its sign */
	struct cell *cells;
};

/* Empty, of this size; also to resize. 0 or -ENOMEM, and then it keeps what it was. */
int canvas_reset(struct canvas *canvas, int rows, int columns) must_check;
/* Nothing but blanks. */
bool canvas_line_is_blank(const struct canvas *canvas, int row);
void canvas_release(struct canvas *canvas);

/*
 * UTF-8 from anywhere, made printable, in at most `width` columns: what is longer ends in `…`.
 * Returns how many columns were used.
 */
int canvas_text(struct canvas *canvas, int row, int column, int width, enum role role,
		const char *text);
__attribute__((format(printf, 6, 7))) int canvas_format(struct canvas *canvas, int row, int column,
							int width, enum role role,
							const char *format, ...);

/* One character; `ascii` stands in for it where needed. */
void canvas_put(struct canvas *canvas, int row, int column, enum role role, uint32_t character,
		char ascii);

/* As canvas_text(), but what is cut out of a longer one is its middle: of paths the end says more.
 */
int canvas_path(struct canvas *canvas, int row, int column, int width, enum role role,
		const char *text);

/* A state in a bar or beside its name: a block where its colour says which, else its sign. */
void canvas_state(struct canvas *canvas, int row, int column, enum state state);

/*
 * Lines of a higher canvas of the same width, which are from `begin` to before `end` there, from
 * line `offset` of these on: on `count` lines from `first` on. Where there are more, the last says
 * how many. Returns the offset, which is not beyond the last page.
 */
int canvas_scroll(struct canvas *canvas, int first, int count, const struct canvas *all, int begin,
		  int end, int offset);

/* The row, to its end. */
void canvas_select(struct canvas *canvas, int row);

/*
 * A bar of `width` columns: the shares of the states in `parts`, one after the other. Each part
 * that is 1/(2 width) of the whole or more gets a cell.
 */
void canvas_bar(struct canvas *canvas, int row, int column, int width, const uint64_t parts[STATES],
		uint64_t whole);

/* Text on a ground of the role's colour; a line at its left keeps it apart from the box beside. */
void canvas_box(struct canvas *canvas, int row, int column, int width, enum role role,
		const char *text);

/* As lines of text without trailing blanks. */
void canvas_dump(const struct canvas *canvas, struct output *out);

#endif
