// SPDX-License-Identifier: GPL-2.0-or-later
/* Each row as a line (RFC 4180), after a heading; keys in objects are joined by a dot. */
#include <math.h>

#include "base/text.h"
#include "emit/emit.h"

static void csv_begin(const struct emit *emit)
{
	for (size_t i = 0; i < emit->columns.count; i++) {
		if (i)
			output_char(emit->out, ',');
		output_string(emit->out, emit->columns.items[i].key);
	}
	output_char(emit->out, '\n');
}

static void write_value(struct output *out, const struct field *field, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NUMBER:
		output_u64(out, value->number);
		break;
	case VALUE_SIGNED:
		output_i64(out, (int64_t)value->number);
		break;
	case VALUE_REAL:
		if (isfinite(value->real))
			output_format(out, "%.6g", value->real);
		break;
	case VALUE_SHARE:
		output_format(out, "%.4f", value->real);
		break;
	case VALUE_STRING:
		if (field->flags & FIELD_OF_LINES)
			text_csv_lines(out, value->string);
		else
			text_csv(out, value->string);
		break;
	case VALUE_BOOL:
		output_string(out, value->number ? "true" : "false");
		break;
	default: /* an empty cell, never 0 */
		break;
	}
}

static void csv_row(const struct emit *emit)
{
	for (size_t i = 0; i < emit->columns.count; i++) {
		const struct column *column = &emit->columns.items[i];

		if (i)
			output_char(emit->out, ',');
		write_value(emit->out, column->fields[column->depth - 1], &emit->values[i]);
	}
	output_char(emit->out, '\n');
}

const struct format format_csv = {
	.name = "csv",
	.help = "one line per row, after a heading",
	.has_rows = true,
	.begin = csv_begin,
	.row = csv_row,
};
