// SPDX-License-Identifier: GPL-2.0-or-later
/* The whole result as one object a line. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "emit/emit.h"

#define ROW_TEXT_FIELDS 64
#define ROW_TEXT_ROWS	16 /* with fewer it does not pay */
#define ROW_TEXT_COPY	32

/*
 * The text that all rows of a schema have in common that lack the same (schema.lacks), up to the
 * first of their values, from there to the next, and so on: rows of threads are many, and have
 * fifty values.
 */
struct row_text {
	bool is_made;
	unsigned int lacks;
	struct output text;
	size_t count;
	struct gap {
		size_t length;		   /* of the text before it */
		const struct field *field; /* whose value is next; NULL: the row ends */
	} gaps[ROW_TEXT_FIELDS + 1];
};

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

static void row_text_gap(struct row_text *row_text, struct json *json, const struct field *field);

static void write_keys(struct json *json, const struct schema *schema, unsigned int lacks,
		       const struct item *item, const struct emit *emit, struct row_text *row_text);

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

/* NULL: there is no memory, or it does not pay. */
static struct row_text *row_text_new(const struct value *list)
{
	struct row_text *row_text = NULL;

	if (list->count >= ROW_TEXT_ROWS)
		row_text = calloc(1, sizeof(*row_text));
	if (row_text && output_init(&row_text->text, -1) < 0) {
		free(row_text);
		return NULL;
	}
	return row_text;
}

static void row_text_free(struct row_text *row_text)
{
	if (row_text)
		output_release(&row_text->text);
	free(row_text);
}

/* What was written since the last one is the text before `field`'s value. */
static void row_text_gap(struct row_text *row_text, struct json *json, const struct field *field)
{
	size_t before = 0;

	for (size_t i = 0; i < row_text->count; i++)
		before += row_text->gaps[i].length;
	row_text->gaps[row_text->count++] = (struct gap){json->out->used - before, field};
	json->comma = true;
}

/* Whether all rows that lack this have the same keys. */
static bool has_row_text(const struct schema *schema, unsigned int lacks)
{
	for (size_t i = 0; i < schema->count; i++)
		if (schema->fields[i].flags & FIELD_MAYBE && !(schema->fields[i].needs & lacks))
			return false;
	return schema->count <= ROW_TEXT_FIELDS;
}

/* Makes it one for this row, if that is not what it is. false: the row cannot have one. */
static bool row_text_fits(struct row_text *row_text, const struct schema *schema,
			  const struct item *row, const struct emit *emit)
{
	struct json json = {.out = &row_text->text};
	unsigned int lacks = schema_lacks(schema, row);

	if (row_text->is_made && row_text->lacks == lacks)
		return true;
	row_text->is_made = has_row_text(schema, lacks);
	if (!row_text->is_made)
		return false;
	row_text->lacks = lacks;
	row_text->count = row_text->text.used = 0;
	json_object_begin(&json, NULL);
	write_keys(&json, schema, lacks, row, emit, row_text);
	json_object_end(&json);
	row_text_gap(row_text, &json, NULL);
	row_text->is_made = !row_text->text.error &&
			    row_text->text.used + ROW_TEXT_COPY <= row_text->text.capacity;
	return row_text->is_made;
}

/* Whether the value is an unsigned member of the row, and known. */
static bool read_member(const struct field *field, const struct item *item, uint64_t *ret_number)
{
	const char *at = (const char *)item->row + field->argument;

	if (field->member == MEMBER_NONE)
		return false;
	*ret_number = field->member == MEMBER_U64 ? *(const uint64_t *)(const void *)at
						  : *(const uint32_t *)(const void *)at;
	return *ret_number || !(field->flags & FIELD_NULL_IF_0);
}

/* Most are short: a copy of a fixed size takes no call. */
static void write_text(struct output *out, const char *text, size_t length)
{
	char *at = length <= ROW_TEXT_COPY ? output_room(out, ROW_TEXT_COPY) : NULL;

	if (!at) {
		output_bytes(out, text, length);
		return;
	}
	memcpy(at, text, ROW_TEXT_COPY);
	out->used += length;
}

static void write_by_row_text(struct json *json, const struct row_text *row_text,
			      const struct item *item, const struct emit *emit)
{
	const char *text = row_text->text.buffer;
	const struct gap *gap = row_text->gaps;
	struct value value;

	if (json->comma)
		output_char(json->out, ',');
	for (;; gap++) {
		uint64_t number;

		write_text(json->out, text, gap->length);
		text += gap->length;
		json->comma = false;
		if (!gap->field)
			break;
		if (read_member(gap->field, item, &number)) {
			output_u64(json->out, number);
			continue;
		}
		gap->field->get(gap->field, item, &value);
		write_value(json, gap->field, item, &value, emit);
	}
	json->comma = true;
}

static void write_list(struct json *json, const struct field *field, const struct item *item,
		       const struct value *list, const struct emit *emit)
{
	struct value element;
	struct row_text *row_text;
	bool is_map = field->type == FIELD_MAP;

	if (field == emit_ordered_list(emit)) {
		write_ordered(json, field, item, list, emit);
		return;
	}
	if (is_map)
		json_object_begin(json, NULL);
	else
		json_array_begin(json, NULL);
	row_text = row_text_new(list);
	for (size_t i = 0; i < list->count; i++) {
		schema_element(field, item, list, i, &element);
		if (element.kind == VALUE_ABSENT)
			continue;
		if (is_map)
			json_key(json, element.name);
		if (row_text && element.kind == VALUE_OBJECT &&
		    row_text_fits(row_text, field->schema, &element.item, emit))
			write_by_row_text(json, row_text, &element.item, emit);
		else
			write_value(json, field, item, &element, emit);
	}
	row_text_free(row_text);
	if (is_map)
		json_object_end(json);
	else
		json_array_end(json);
}

/*
 * Fields of a group are in one object, which is null if the row has none of them. With a `row_text`
 * it writes what all rows have in common that lack the same, and notes where their values go.
 */
static void write_keys(struct json *json, const struct schema *schema, unsigned int lacks,
		       const struct item *item, const struct emit *emit, struct row_text *row_text)
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
		if (field->needs & lacks)
			value.kind = field_without(field);
		else if (row_text)
			value.kind = VALUE_NUMBER;
		else
			field->get(field, item, &value);
		if (value.kind == VALUE_ABSENT)
			continue;
		if (group && !open)
			json_object_begin(json, group);
		open = group != NULL;
		write_key(json, field);
		if (row_text && !(field->needs & lacks)) {
			row_text_gap(row_text, json, field);
		} else if (value.kind == VALUE_NUMBER) { /* as most are, without a call */
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

static void write_fields(struct json *json, const struct schema *schema, const struct item *item,
			 const struct emit *emit)
{
	write_keys(json, schema, schema_lacks(schema, item), item, emit, NULL);
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
