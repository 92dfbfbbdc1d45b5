// SPDX-License-Identifier: GPL-2.0-or-later
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "tui/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"
#include "tui/state_looks.h"

#define ELLIPSIS 0x2026

int canvas_reset(struct canvas *canvas, int rows, int columns)
{
	size_t count = (size_t)rows * (size_t)columns;
	struct cell *cells = realloc(canvas->cells, (count ? count : 1) * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	canvas->cells = cells;
	canvas->rows = rows;
	canvas->columns = columns;
	for (size_t i = 0; i < count; i++)
		cells[i] = (struct cell){.character = ' '};
	return 0;
}

void canvas_release(struct canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct canvas){0};
}

bool canvas_line_is_blank(const struct canvas *canvas, int row)
{
	for (int column = 0; column < canvas->columns; column++)
		if (canvas->cells[row * canvas->columns + column].character != ' ')
			return false;
	return true;
}

static struct cell *cell_at(const struct canvas *canvas, int row, int column)
{
	if (row < 0 || row >= canvas->rows || column < 0 || column >= canvas->columns)
		return NULL;
	return &canvas->cells[row * canvas->columns + column];
}

static void set(struct canvas *canvas, int row, int column, enum role role, uint32_t character)
{
	struct cell *cell = cell_at(canvas, row, column);

	if (cell)
		*cell = (struct cell){
			.character = character, .role = (uint8_t)role, .selected = cell->selected};
}

void canvas_put(struct canvas *canvas, int row, int column, enum role role, uint32_t character,
		char ascii)
{
	set(canvas, row, column, role, canvas->ascii ? (unsigned char)ascii : character);
}

static void put_ellipsis(struct canvas *canvas, int row, int column, enum role role)
{
	canvas_put(canvas, row, column, role, ELLIPSIS, '~');
}

/* Text that can be printed, and fits. */
static int put_text(struct canvas *canvas, int row, int column, enum role role, const char *shown)
{
	size_t length = strlen(shown), at = 0;
	int used = 0;

	while (at < length) {
		uint32_t character;
		size_t bytes = text_decode(shown + at, length - at, &character);
		int columns = character < 0x80 ? 1 : wcwidth((wchar_t)character);

		at += bytes;
		if (character == ELLIPSIS) {
			put_ellipsis(canvas, row, column + used++, role);
			continue;
		}
		if (canvas->ascii && character >= 0x80)
			character = '?';
		if (columns > 0)
			set(canvas, row, column + used, role, character);
		for (int i = 1; i < columns; i++)
			set(canvas, row, column + used + i, role, canvas->ascii ? '?' : 0);
		used += columns > 0 ? columns : 0;
	}
	return used;
}

static int fitting(const struct canvas *canvas, int column, int width)
{
	return width > canvas->columns - column ? canvas->columns - column : width;
}

int canvas_text(struct canvas *canvas, int row, int column, int width, enum role role,
		const char *text)
{
	char shown[1024];
	size_t whole;
	int used;

	width = fitting(canvas, column, width);
	if (width <= 0)
		return 0;
	whole = text_printable(shown, sizeof(shown), text, (size_t)width + 1);
	if (whole <= (size_t)width)
		return put_text(canvas, row, column, role, shown);
	/* one column too many is enough to know */
	text_printable(shown, sizeof(shown), text, (size_t)width - 1);
	used = put_text(canvas, row, column, role, shown);
	put_ellipsis(canvas, row, column + used, role);
	return used + 1;
}

int canvas_path(struct canvas *canvas, int row, int column, int width, enum role role,
		const char *text)
{
	char shown[1024];

	width = fitting(canvas, column, width);
	if (width < 8)
		return canvas_text(canvas, row, column, width, role, text);
	text_middle(shown, sizeof(shown), text, (size_t)width);
	return put_text(canvas, row, column, role, shown);
}

int canvas_format(struct canvas *canvas, int row, int column, int width, enum role role,
		  const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return canvas_text(canvas, row, column, width, role, text);
}

int canvas_scroll(struct canvas *canvas, int first, int count, const struct canvas *all, int begin,
		  int end, int offset)
{
	int shown = count, lines = end - begin;

	if (offset > lines - count)
		offset = lines - count;
	if (offset < 0)
		offset = 0;
	if (offset + count < lines)
		shown--;
	for (int row = 0; row < shown && offset + row < lines; row++)
		memcpy(&canvas->cells[(first + row) * canvas->columns],
		       &all->cells[(begin + offset + row) * canvas->columns],
		       (size_t)canvas->columns * sizeof(*all->cells));
	if (shown < count)
		canvas_format(canvas, first + shown,
			      canvas->columns > 24 ? canvas->columns - 24 : 0, 24, ROLE_WARNING,
			      "%6d more lines (PgDn)", lines - offset - shown);
	return offset;
}

void canvas_select(struct canvas *canvas, int row)
{
	for (int i = 0; i < canvas->columns; i++) {
		struct cell *cell = cell_at(canvas, row, i);

		if (cell)
			cell->selected = true;
	}
}

static uint32_t state_sign(enum state state, bool ascii)
{
	static const struct {
		uint32_t sign;
		char ascii;
	} signs[STATES] = {
#define X(state, sign, ascii, ...) [STATE_##state] = {sign, ascii},
		STATE_LOOKS(X)
#undef X
	};

	return ascii ? (unsigned char)signs[state].ascii : signs[state].sign;
}

/* Seven eighths high: rows of bars stay apart. */
#define BLOCK	     0x2587
#define LEFT_EDGE    0x258f

#define BOX_TEXT_MIN 4

void canvas_state(struct canvas *canvas, int row, int column, enum state state)
{
	bool solid = canvas->solid[state] && !canvas->ascii;
	struct cell *cell = cell_at(canvas, row, column);

	set(canvas, row, column, (enum role)(ROLE_STATE + (int)state),
	    solid ? BLOCK : state_sign(state, canvas->ascii));
	if (cell)
		cell->bar = true;
}

void canvas_bar(struct canvas *canvas, int row, int column, int width, const uint64_t parts[STATES],
		uint64_t whole)
{
	uint64_t sum = 0;
	int used = 0;

	if (!whole || width <= 0)
		return;
	for (int i = 0; i < STATES; i++) {
		double end;

		sum += parts[i];
		/* where the sum ends, rounded: no part is moved by the rounding of others */
		end = (double)sum / (double)whole * width + 0.5;
		if (end > width)
			end = width;
		for (; used < (int)end; used++)
			canvas_state(canvas, row, column + used, (enum state)i);
	}
}

void canvas_box(struct canvas *canvas, int row, int column, int width, enum role role,
		const char *text)
{
	for (int i = 0; i < width; i++)
		set(canvas, row, column + i, role, ' ');
	canvas_put(canvas, row, column, role, LEFT_EDGE, '|');
	/* a letter and an ellipsis say nothing, many of them distract */
	if (width - 1 >= BOX_TEXT_MIN || (int)strlen(text) < width)
		canvas_text(canvas, row, column + 1, width - 1, role, text);
	for (int i = 0; i < width; i++) {
		struct cell *cell = cell_at(canvas, row, column + i);

		if (cell)
			cell->filled = true;
	}
}

void canvas_dump(const struct canvas *canvas, struct output *out)
{
	for (int row = 0; row < canvas->rows; row++) {
		int last = canvas->columns;

		while (last && cell_at(canvas, row, last - 1)->character == ' ')
			last--;
		for (int column = 0; column < last; column++) {
			char bytes[4];
			uint32_t character = cell_at(canvas, row, column)->character;

			if (character)
				output_bytes(out, bytes, text_encode(bytes, character));
		}
		output_char(out, '\n');
	}
}
