// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns of --fields, for people: what is in ns as a duration. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "emit/emit.h"

#define CELL_BYTES 64

static const struct field *field_of(const struct column *column)
{
	return column->fields[column->depth - 1];
}

static bool is_time(const struct column *column)
{
	size_t length = strlen(column->key);

	return (length > 3 && !strcmp(column->key + length - 3, "_ns")) ||
	       strstr(column->key, "_ns.");
}

static bool is_text(const struct column *column)
{
	return field_of(column)->type == FIELD_STRING;
}

static const char *heading_of(const struct column *column)
{
	const struct field *field = field_of(column);

	return field->header ? field->header : column->name;
}

static int width_of(const struct column *column)
{
	int text = field_of(column)->width ? (int)field_of(column)->width : 16;
	int least = is_text(column) ? text : is_time(column) ? 7 : 8;
	int heading = (int)strlen(heading_of(column));

	return heading > least ? heading : least;
}

static bool fits(const char *text, size_t columns)
{
	char shown[1024];

	return text_printable(shown, sizeof(shown), text, columns + 1) <= columns;
}

/*
 * Words to the left, figures to the right; the last column needs no blanks behind it. A terminal
 * would break a line that is too long, so that words are cut there; elsewhere they are whole, as
 * one copies them from a file.
 */
static void write_cell(const struct emit *emit, size_t number, const char *text, bool is_heading)
{
	const struct column *column = &emit->columns.items[number];
	bool is_last = number + 1 == emit->columns.count;
	int width = width_of(column);

	if (number)
		output_string(emit->out, "  ");
	if (!is_text(column))
		output_format(emit->out, "%*s", width, text);
	else if (is_last || is_heading)
		output_format(emit->out, "%-*s", is_last ? 0 : width, text);
	else if (emit->is_cut || fits(text, (size_t)width))
		text_padded(emit->out, text, (size_t)width);
	else
		output_format(emit->out, "%s", text);
}

static void table_begin(const struct emit *emit)
{
	for (size_t i = 0; i < emit->columns.count; i++)
		write_cell(emit, i, heading_of(&emit->columns.items[i]), true);
	output_char(emit->out, '\n');
}

static const char *cell(char text[CELL_BYTES], const struct column *column,
			const struct value *value)
{
	switch (value->kind) {
	case VALUE_NUMBER:
		if (is_time(column))
			duration_format(text, CELL_BYTES, value->number);
		else
			snprintf(text, CELL_BYTES, "%llu", (unsigned long long)value->number);
		return text;
	case VALUE_SIGNED:
		snprintf(text, CELL_BYTES, "%lld", (long long)value->number);
		return text;
	case VALUE_REAL:
	case VALUE_SHARE:
		if (value->real != value->real)
			return "-";
		snprintf(text, CELL_BYTES, "%.4g", value->real);
		return text;
	case VALUE_STRING:
		return value->string;
	case VALUE_BOOL:
		return value->number ? "yes" : "no";
	default:
		return "-";
	}
}

static void table_row(const struct emit *emit)
{
	char text[CELL_BYTES];

	for (size_t i = 0; i < emit->columns.count; i++) {
		write_cell(emit, i, cell(text, &emit->columns.items[i], &emit->values[i]), false);
	}
	output_char(emit->out, '\n');
}

const struct format format_table = {
	.name = "table",
	.help = "for people",
	.has_rows = true,
	.begin = table_begin,
	.row = table_row,
};
