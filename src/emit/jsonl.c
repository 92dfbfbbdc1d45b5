// SPDX-License-Identifier: GPL-2.0-or-later
/* Each row as one flat object, for jq: keys are the names of --fields. */
#include "base/json.h"

#include "emit/emit.h"

static void jsonl_row(const struct emit *emit)
{
	struct json json = {.out = emit->out};

	json_object_begin(&json, NULL);
	for (size_t i = 0; i < emit->columns.count; i++) {
		const char *name = emit->columns.items[i].name;
		const struct value *value = &emit->values[i];

		switch (value->kind) {
		case VALUE_NUMBER:
			json_add_u64(&json, name, value->number);
			break;
		case VALUE_SIGNED:
			json_add_i64(&json, name, (int64_t)value->number);
			break;
		case VALUE_REAL:
			json_add_double(&json, name, value->real);
			break;
		case VALUE_SHARE:
			json_add_share(&json, name, value->real);
			break;
		case VALUE_STRING:
			json_add_string(&json, name, value->string);
			break;
		case VALUE_BOOL:
			json_add_bool(&json, name, value->number);
			break;
		default:
			json_add_null(&json, name);
			break;
		}
	}
	json_object_end(&json);
	output_char(emit->out, '\n');
}

const struct format format_jsonl = {
	.name = "jsonl",
	.help = "one flat JSON object per row and line, for jq",
	.has_rows = true,
	.row = jsonl_row,
};
