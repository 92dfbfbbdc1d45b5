// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool matches(const struct binding *binding, struct key key)
{
	if (binding->kind != key.kind)
		return false;
	if (key.kind != KEY_KIND_CHARACTER)
		return true;
	return key.character && key.character < 0x80 &&
	       strchr(binding->characters, (int)key.character);
}

enum screen_request bindings_act(const struct bindings *bindings, void *screen, struct key key,
				 bool replay, const struct keymap *keymap)
{
	if (keymap && key.kind == KEY_KIND_CHARACTER && key.character < KEYMAP_SIZE &&
	    keymap->instead[key.character])
		key.character = (unsigned char)keymap->instead[key.character];
	for (size_t i = 0; i < bindings->count; i++)
		if (matches(&bindings->items[i], key) &&
		    (!(bindings->items[i].flags & BINDING_REPLAY) || replay))
			return bindings->items[i].act(screen, key.character);
	return SCREEN_NOTHING;
}

static int hint_width(const struct binding *binding)
{
	return (int)(strlen(binding->keys) + strlen(binding->hint)) + 1;
}

/* Of those with the flag, with a gap of two before each. */
static int flagged_width(const struct bindings *bindings, unsigned int flag)
{
	int width = 0;

	for (size_t i = 0; i < bindings->count; i++)
		if (bindings->items[i].flags & flag)
			width += 2 + hint_width(&bindings->items[i]);
	return width;
}

/* From the left of the row on. */
static void draw_hints(const struct bindings *bindings, struct canvas *canvas, int row, int width,
		       bool replay, struct hints *ret_hints)
{
	unsigned int flag = BINDING_KEPT;
	int at = 0, kept = flagged_width(bindings, flag);

	if (kept - 2 > width) {
		flag = BINDING_LAST;
		kept = flagged_width(bindings, flag);
	}
	*ret_hints = (struct hints){.row = row};
	for (size_t i = 0; i < bindings->count && ret_hints->count < HINTS_MAX; i++) {
		const struct binding *binding = &bindings->items[i];

		if (!binding->hint || (binding->flags & BINDING_REPLAY && !replay))
			continue;
		if (binding->flags & flag)
			kept -= 2 + hint_width(binding);
		/* a whole one, or none: of the rest the help speaks */
		if (at + hint_width(binding) + kept > width)
			continue;
		ret_hints->items[ret_hints->count].binding = binding;
		ret_hints->items[ret_hints->count].from = at;
		at += canvas_text(canvas, row, at, canvas->columns, ROLE_KEY, binding->keys);
		at += 1 +
		      canvas_text(canvas, row, at + 1, canvas->columns, ROLE_DIM, binding->hint);
		ret_hints->items[ret_hints->count++].to = at;
		at += 2;
	}
}

enum screen_request hints_click(const struct hints *hints, void *screen, struct key key)
{
	for (size_t i = 0; key.row == hints->row && i < hints->count; i++) {
		const struct binding *binding = hints->items[i].binding;

		if (key.column >= hints->items[i].from && key.column < hints->items[i].to)
			return binding->act(screen, binding->characters
							    ? (unsigned char)*binding->characters
							    : 0);
	}
	return SCREEN_NOTHING;
}

#define HELP_STATES_COLUMN 84
/* With so many columns the states are beside the keys. */
#define HELP_WIDE 150
/* In a terminal of few columns each text takes several. */
#define HELP_LINES 400
/* Texts are beside names of less. */
#define HELP_TEXT 13

/* Up to the blank before which a line of `width` has to end, or all. */
static int line_length(const char *text, int width)
{
	int length = (int)strlen(text);

	if (length <= width)
		return length;
	for (length = width; length && text[length] != ' '; length--)
		;
	return length ? length : width;
}

/* In as many rows as it needs up to column `end`; the row after them. */
static int draw_text(struct canvas *canvas, int row, int column, int end, const char *text)
{
	int width = end - column > 1 ? end - column : 1;
	char line[256];

	do {
		int length = line_length(text, width);

		snprintf(line, sizeof(line), "%.*s", length, text);
		if (row < canvas->rows)
			canvas_text(canvas, row++, column, width, ROLE_NORMAL, line);
		text += length;
		text += *text == ' ';
	} while (*text);
	return row;
}

static int draw_bindings(const struct bindings *bindings, struct canvas *canvas, int end,
			 bool replay)
{
	int row = 0;

	canvas_text(canvas, row++, 0, canvas->columns, ROLE_TITLE, "Keys");
	for (size_t i = 0; i < bindings->count; i++) {
		const struct binding *binding = &bindings->items[i];

		if (!*binding->keys || (binding->flags & BINDING_REPLAY && !replay))
			continue;
		canvas_text(canvas, row, 2, HELP_TEXT - 3, ROLE_KEY, binding->keys);
		row = draw_text(canvas, row, HELP_TEXT, end, binding->help);
	}
	return row;
}

static int draw_states(struct canvas *canvas, int row, int column)
{
	canvas_text(canvas, row++, column, canvas->columns, ROLE_TITLE, "States");
	for (int i = 0; i < STATES; i++) {
		canvas_state(canvas, row, column + 2, (enum state)i);
		canvas_text(canvas, row, column + 4, 10, (enum role)(ROLE_STATE + i),
			    state_info[i].key);
		row = draw_text(canvas, row, column + HELP_TEXT, canvas->columns,
				state_info[i].help);
	}
	return row;
}

static int draw_words(const struct bindings *bindings, struct canvas *canvas, int row, int column)
{
	canvas_text(canvas, row++, column, canvas->columns, ROLE_TITLE, "First line");
	for (size_t i = 0; i < bindings->word_count; i++) {
		canvas_text(canvas, row, column + 2, 10, ROLE_NORMAL, bindings->words[i].word);
		row = draw_text(canvas, row, column + HELP_TEXT, canvas->columns,
				bindings->words[i].help);
	}
	return row;
}

int help_draw(const struct bindings *bindings, struct canvas *canvas, bool replay, int offset)
{
	struct canvas all = {.ascii = canvas->ascii};
	bool is_wide = canvas->columns >= HELP_WIDE;
	int room = canvas->rows - 1, keys, states, lines;

	memcpy(all.solid, canvas->solid, sizeof(all.solid));
	if (room < 1 || canvas_reset(&all, HELP_LINES, canvas->columns) < 0)
		return 0;
	keys = draw_bindings(bindings, &all, is_wide ? HELP_STATES_COLUMN - 2 : canvas->columns,
			     replay);
	states =
		is_wide ? draw_states(&all, 0, HELP_STATES_COLUMN) : draw_states(&all, keys + 1, 0);
	states = draw_words(bindings, &all, states + 1, is_wide ? HELP_STATES_COLUMN : 0);
	lines = states > keys ? states : keys;
	if (lines > all.rows) /* of a very narrow one, the end is cut */
		lines = all.rows;
	offset = canvas_scroll(canvas, 0, room, &all, 0, lines, offset);
	canvas_release(&all);
	return offset;
}

enum typing typing_key(char typed[TYPED_BYTES], struct key key)
{
	size_t length = strlen(typed);
	char bytes[4];

	switch (key.kind) {
	case KEY_KIND_ENTER:
		return TYPING_ACCEPTED;
	case KEY_KIND_ESCAPE:
		return TYPING_CANCELLED;
	case KEY_KIND_BACKSPACE:
		while (length && ((unsigned char)typed[--length] & 0xc0) == 0x80)
			;
		typed[length] = '\0';
		return TYPING_CHANGED;
	case KEY_KIND_CHARACTER:
		if (key.character >= 0x20 && length + 4 < TYPED_BYTES) {
			size_t count = text_encode(bytes, key.character);

			memcpy(typed + length, bytes, count);
			typed[length + count] = '\0';
		}
		return TYPING_CHANGED;
	default:
		return TYPING_IGNORED;
	}
}

static void draw_typing(struct canvas *canvas, int row, const struct last_line *line)
{
	int at = canvas_text(canvas, row, 0, canvas->columns, ROLE_KEY, line->question);

	at += canvas_text(canvas, row, at, canvas->columns, ROLE_NORMAL, line->typed);
	canvas_put(canvas, row, at, ROLE_TITLE, '_', '_');
	canvas_text(canvas, row, at + 3, canvas->columns, ROLE_WARNING, line->message);
}

void last_line_draw(const struct bindings *bindings, struct canvas *canvas, int row,
		    const struct last_line *line, struct hints *ret_hints)
{
	int width = (int)strlen(line->chosen);
	int room = canvas->columns - flagged_width(bindings, BINDING_LAST);

	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, row, i, ROLE_NORMAL, ' ', ' ');
	*ret_hints = (struct hints){0};
	if (line->question) {
		draw_typing(canvas, row, line);
		return;
	}
	if (*line->message) {
		canvas_text(canvas, row, 0, canvas->columns, ROLE_WARNING, line->message);
		return;
	}
	/* room for a few hints as well */
	if (width > canvas->columns / 2)
		width = canvas->columns / 2;
	if (width > room)
		width = room < 4 ? 0 : room;
	draw_hints(bindings, canvas, row, canvas->columns - width - (width ? 2 : 0), line->replay,
		   ret_hints);
	canvas_text(canvas, row, canvas->columns - width, width, line->role, line->chosen);
}

void search_line_draw(const struct bindings *bindings, struct canvas *canvas, int row,
		      struct last_line line, const char *search, const char *found,
		      struct hints *ret_hints)
{
	char chosen[TYPED_BYTES + FOUND_BYTES + 16] = "";

	if (*search)
		snprintf(chosen, sizeof(chosen), "search: %s%s%s", search, *found ? ": " : "",
			 found);
	line.question = line.typed ? "search: " : NULL;
	if (line.typed && !*line.message)
		line.message = found;
	line.chosen = chosen;
	line.role = ROLE_WARNING;
	last_line_draw(bindings, canvas, row, &line, ret_hints);
}
