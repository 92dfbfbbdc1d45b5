// SPDX-License-Identifier: GPL-2.0-or-later
/* The whole result as one object a line. */
#include <errno.h>

#include "base/json.h"
#include "emit/emit.h"

/* An object that is no result: all of it, in its order. */
static const struct emit whole = {.levels = ~0U};

void emit_json_value(struct json *json, const char *key, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NUMBER:
		json_add_u64(json, key, value->number);
		break;
	case VALUE_SIGNED:
		json_add_i64(json, key, (int64_t)value->number);
		break;
	case VALUE_REAL:
		json_add_double(json, key, value->real);
		break;
	case VALUE_SHARE:
		json_add_share(json, key, value->real);
		break;
	case VALUE_STRING:
		json_add_string(json, key, value->string);
		break;
	case VALUE_BOOL:
		json_add_bool(json, key, value->number);
		break;
	default:
		json_add_null(json, key);
		break;
	}
}

/* `"key":`, with a comma where something is before it: what comes next is its value. */
static void write_key(struct json *json, const struct field *field)
{
	char *at = output_room(json->out, sizeof(field->quoted));
	size_t skipped = !json->comma;
	size_t length = field->quoted_length - skipped;

	json->comma = false;
	if (!at) {
		output_bytes(json->out, field->quoted + skipped, length);
		return;
	}
	memcpy(at, field->quoted + skipped, sizeof(field->quoted) - 1);
	json->out->used += length;
}

static void write_fields(struct json *json, const struct schema *schema, const struct item *item,
			 const struct emit *emit);

static void write_list(struct json *json, const struct field *field, const struct item *item,
		       const struct value *list, const struct emit *emit);

/* After its key, if it has one. */
static void write_value(struct json *json, const struct field *field, const struct item *item,
			const struct value *value, const struct emit *emit)
{
	switch (value->kind) {
	case VALUE_OBJECT:
		json_object_begin(json, NULL);
		write_fields(json, field->schema, &value->item, emit);
		json_object_end(json);
		break;
	case VALUE_LIST:
		write_list(json, field, item, value, emit);
		break;
	default:
		emit_json_value(json, NULL, value);
		break;
	}
}

/* What a row is sorted by; false: by nothing, or by what all rows have from around them. */
static bool order_value(const struct emit *emit, const struct item *row, struct value *ret_value)
{
	struct item path[COLUMN_LEVELS_MAX] = {{NULL, NULL}};
	unsigned int level = emit->ordering.level_count - 1;

	path[level] = *row;
	return emit->order.field && emit->ordering.items[0].level == level &&
	       emit_order_value(emit, path, ret_value);
}

/* The rows that --sort and --top are about. */
static void write_ordered(struct json *json, const struct field *field, const struct item *item,
			  const struct value *list, const struct emit *emit)
{
	struct ordered_rows ordered;
	struct value element, key;

	if (ordered_rows_init(&ordered) < 0) {
		output_fail(json->out, ENOMEM);
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct json row = {.out = &ordered.text};

		schema_element(field, item, list, i, &element);
		if (element.kind != VALUE_OBJECT)
			continue;
		write_value(&row, field, item, &element, emit);
		ordered_rows_add(&ordered, order_value(emit, &element.item, &key) ? &key : NULL);
	}
	json_array_begin(json, NULL);
	ordered_rows_write(&ordered, json->out, emit->order.top, ",");
	json_array_end(json);
	ordered_rows_release(&ordered);
}

static void write_list(struct json *json, const struct field *field, const struct item *item,
		       const struct value *list, const struct emit *emit)
{
	struct value element;
	bool is_map = field->type == FIELD_MAP;

	if (field == emit_ordered_list(emit)) {
		write_ordered(json, field, item, list, emit);
		return;
	}
	if (is_map)
		json_object_begin(json, NULL);
	else
		json_array_begin(json, NULL);
	for (size_t i = 0; i < list->count; i++) {
		schema_element(field, item, list, i, &element);
		if (element.kind == VALUE_ABSENT)
			continue;
		if (is_map)
			json_key(json, element.name);
		write_value(json, field, item, &element, emit);
	}
	if (is_map)
		json_object_end(json);
	else
		json_array_end(json);
}

/* Fields of a group are in one object, which is null if the row has none of them. */
static void write_fields(struct json *json, const struct schema *schema, const struct item *item,
			 const struct emit *emit)
{
	const char *group = NULL;
	bool open = false;
	struct value value;

	for (size_t i = 0; i < schema->count; i++) {
		const struct field *field = &schema->fields[i];

		if (!field->key || !field_applies(field, emit->levels) ||
		    field->flags & FIELD_ON_REQUEST)
			continue;
		if (field->group != group) {
			if (open)
				json_object_end(json);
			else if (group)
				json_add_null(json, group);
			group = field->group;
			open = false;
		}
		schema_get(schema, field, item, &value);
		if (value.kind == VALUE_ABSENT)
			continue;
		if (group && !open)
			json_object_begin(json, group);
		open = group != NULL;
		write_key(json, field);
		if (value.kind == VALUE_NUMBER) { /* as most are, without a call */
			output_u64(json->out, value.number);
			json->comma = true;
		} else {
			write_value(json, field, item, &value, emit);
		}
	}
	if (open)
		json_object_end(json);
	else if (group)
		json_add_null(json, group);
}

static void write_object(struct json *json, const char *key, const struct schema *schema,
			 const struct item *item, const struct emit *emit)
{
	json_object_begin(json, key);
	if (schema->version) {
		json_add_string(json, "type", schema->name);
		json_add_u64(json, "version", schema->version);
	}
	write_fields(json, schema, item, emit);
	json_object_end(json);
}

void emit_json_object(struct json *json, const char *key, const struct schema *schema,
		      const struct item *item)
{
	write_object(json, key, schema, item, &whole);
}

void emit_json_line(struct output *out, const struct schema *schema, const struct item *item)
{
	struct json json = {.out = out};

	write_object(&json, NULL, schema, item, &whole);
	output_char(out, '\n');
}

static void json_object(const struct emit *emit, const struct item *item)
{
	struct json json = {.out = emit->out};

	write_object(&json, NULL, emit->schema, item, emit);
	output_char(emit->out, '\n');
}

const struct format format_json = {
	.name = "json",
	.help = "one JSON object per result and line",
	.object = json_object,
};
