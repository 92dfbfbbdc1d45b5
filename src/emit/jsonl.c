// SPDX-License-Identifier: GPL-2.0-or-later
/* Each row as one flat object, for jq: keys are the names of --fields. */
#include "base/json.h"

#include "emit/emit.h"

static void jsonl_row(const struct emit *emit)
{
	struct json json = {.out = emit->out};

	json_object_begin(&json, NULL);
	for (size_t i = 0; i < emit->columns.count; i++)
		emit_json_value(&json, emit->columns.items[i].name, &emit->values[i]);
	json_object_end(&json);
	output_char(emit->out, '\n');
}

const struct format format_jsonl = {
	.name = "jsonl",
	.help = "one flat JSON object per row and line, for jq",
	.has_rows = true,
	.row = jsonl_row,
};
