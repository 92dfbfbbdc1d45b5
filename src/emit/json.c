// SPDX-License-Identifier: GPL-2.0-or-later
/* The whole result as one object a line. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "emit/emit.h"

#define TEMPLATE_FIELDS 64
#define TEMPLATE_ROWS	16 /* with fewer it does not pay */
#define TEMPLATE_COPY	32

/*
 * The text that all rows of a schema have in common that lack the same (schema.lacks), up to the
 * first of their values, from there to the next, and so on: rows of threads are many, and have
 * fifty values.
 */
struct template
{
	bool is_made;
	unsigned int lacks;
	struct output text;
	size_t count;
	struct gap {
		size_t length;		   /* of the text before it */
		const struct field *field; /* whose value is next; NULL: the row ends */
	} gaps[TEMPLATE_FIELDS + 1];
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

static void template_gap(struct template *template, struct json *json, const struct field *field);

static void write_keys(struct json *json, const struct schema *schema, unsigned int lacks,
		       const struct item *item, const struct emit *emit, struct template *template);

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
static struct template *template_new(const struct value *list)
{
	struct template *template = NULL;

	if (list->count >= TEMPLATE_ROWS)
		template = calloc(1, sizeof(*template));
	if (template && output_init(&template->text, -1) < 0) {
		free(template);
		return NULL;
	}
	return template;
}

static void template_free(struct template *template)
{
	if (template)
		output_release(&template->text);
	free(template);
}

/* What was written since the last one is the text before `field`'s value. */
static void template_gap(struct template *template, struct json *json, const struct field *field)
{
	size_t before = 0;

	for (size_t i = 0; i < template->count; i++)
		before += template->gaps[i].length;
	template->gaps[template->count++] = (struct gap){json->out->used - before, field};
	json->comma = true;
}

/* Whether all rows that lack this have the same keys. */
static bool has_template(const struct schema *schema, unsigned int lacks)
{
	for (size_t i = 0; i < schema->count; i++)
		if (schema->fields[i].flags & FIELD_MAYBE && !(schema->fields[i].needs & lacks))
			return false;
	return schema->count <= TEMPLATE_FIELDS;
}

/* Makes it one for this row, if that is not what it is. false: the row cannot have one. */
static bool template_fits(struct template *template, const struct schema *schema,
			  const struct item *row, const struct emit *emit)
{
	struct json json = {.out = &template->text};
	unsigned int lacks = schema_lacks(schema, row);

	if (template->is_made && template->lacks == lacks)
		return true;
	template->is_made = has_template(schema, lacks);
	if (!template->is_made)
		return false;
	template->lacks = lacks;
	template->count = template->text.used = 0;
	json_object_begin(&json, NULL);
	write_keys(&json, schema, lacks, row, emit, template);
	json_object_end(&json);
	template_gap(template, &json, NULL);
	template->is_made = !template->text.error &&
			    template->text.used + TEMPLATE_COPY <= template->text.capacity;
	return template->is_made;
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
	char *at = length <= TEMPLATE_COPY ? output_room(out, TEMPLATE_COPY) : NULL;

	if (!at) {
		output_bytes(out, text, length);
		return;
	}
	memcpy(at, text, TEMPLATE_COPY);
	out->used += length;
}

static void write_by_template(struct json *json, const struct template *template,
			      const struct item *item, const struct emit *emit)
{
	const char *text = template->text.buffer;
	const struct gap *gap = template->gaps;
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
	struct template *template;
	bool is_map = field->type == FIELD_MAP;

	if (field == emit_ordered_list(emit)) {
		write_ordered(json, field, item, list, emit);
		return;
	}
	if (is_map)
		json_object_begin(json, NULL);
	else
		json_array_begin(json, NULL);
	template = template_new(list);
	for (size_t i = 0; i < list->count; i++) {
		schema_element(field, item, list, i, &element);
		if (element.kind == VALUE_ABSENT)
			continue;
		if (is_map)
			json_key(json, element.name);
		if (template && element.kind == VALUE_OBJECT &&
		    template_fits(template, field->schema, &element.item, emit))
			write_by_template(json, template, &element.item, emit);
		else
			write_value(json, field, item, &element, emit);
	}
	template_free(template);
	if (is_map)
		json_object_end(json);
	else
		json_array_end(json);
}

/*
 * Fields of a group are in one object, which is null if the row has none of them. With a `template`
 * it writes what all rows have in common that lack the same, and notes where their values go.
 */
static void write_keys(struct json *json, const struct schema *schema, unsigned int lacks,
		       const struct item *item, const struct emit *emit, struct template *template)
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
		else if (template)
			value.kind = VALUE_NUMBER;
		else
			field->get(field, item, &value);
		if (value.kind == VALUE_ABSENT)
			continue;
		if (group && !open)
			json_object_begin(json, group);
		open = group != NULL;
		write_key(json, field);
		if (!template || field->needs & lacks)
			write_value(json, field, item, &value, emit);
		else
			template_gap(template, json, field);
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
