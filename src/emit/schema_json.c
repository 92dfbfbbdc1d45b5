// SPDX-License-Identifier: GPL-2.0-or-later
#include "emit/schema_json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"

/* Schemas that have been met, each once. */
struct definitions {
	const struct schema **items;
	size_t count, room;
};

static const char *const types[FIELD_TYPES] = {
	[FIELD_INTEGER] = "integer", [FIELD_SIGNED] = "integer", [FIELD_REAL] = "number",
	[FIELD_SHARE] = "number",    [FIELD_STRING] = "string",	 [FIELD_BOOL] = "boolean",
	[FIELD_LIST] = "array",	     [FIELD_MAP] = "object",
};

static const char *definition_of(const struct schema *schema)
{
	return schema->definition ? schema->definition : schema->name;
}

static int define(struct definitions *definitions, const struct schema *schema)
{
	int result = 0;

	for (size_t i = 0; i < definitions->count; i++)
		if (definitions->items[i] == schema)
			return 0;
	if (array_reserve(&definitions->items, &definitions->room, definitions->count + 1,
			  sizeof(schema)) < 0)
		return -ENOMEM;
	definitions->items[definitions->count++] = schema;
	for (size_t i = 0; result >= 0 && i < schema->count; i++)
		if (schema->fields[i].schema)
			result = define(definitions, schema->fields[i].schema);
	return result;
}

static void add_reference(struct json *json, const struct schema *schema)
{
	output_format(json->out, "%s{\"$ref\":\"#/$defs/%s\"}", json->comma ? "," : "",
		      definition_of(schema));
	json->comma = true;
}

static void add_null_type(struct json *json)
{
	json_object_begin(json, NULL);
	json_add_string(json, "type", "null");
	json_object_end(json);
}

static bool is_never_null(const struct field *field)
{
	if (field->flags & FIELD_NULL_IF_0 || (field->needs && !(field->flags & FIELD_MAYBE)))
		return false;
	return field->flags & FIELD_NEVER_NULL || field->get == get_u64_member ||
	       field->get == get_u32_member || field->get == get_bool_member ||
	       (field->type == FIELD_OBJECT && field->get == get_same_row);
}

static void add_type(struct json *json, const struct field *field)
{
	if (is_never_null(field)) {
		json_add_string(json, "type", types[field->type]);
		return;
	}
	json_array_begin(json, "type");
	json_add_string(json, NULL, types[field->type]);
	json_add_string(json, NULL, "null");
	json_array_end(json);
}

static void add_property(struct json *json, const struct field *field)
{
	json_object_begin(json, field->key);
	if (field->help)
		json_add_string(json, "description", field->help);
	if (field->type == FIELD_OBJECT) {
		json_array_begin(json, "anyOf");
		add_reference(json, field->schema);
		if (!is_never_null(field))
			add_null_type(json);
		json_array_end(json);
	} else {
		add_type(json, field);
	}
	if (field->type == FIELD_INTEGER)
		json_add_u64(json, "minimum", 0);
	if (field->type == FIELD_LIST && field->schema) {
		output_string(json->out, ",\"items\":");
		json->comma = false;
		add_reference(json, field->schema);
	}
	json_object_end(json);
}

static bool is_output(const struct field *field)
{
	return field->key && !(field->flags & FIELD_ON_REQUEST);
}

/* Whether every row has it. */
static bool is_required(const struct field *field)
{
	return !(field->flags & FIELD_MAYBE) && !field->levels;
}

/* Of the fields from `start` on that are in one group; where the next begins. */
static size_t add_group(struct json *json, const struct schema *schema, size_t start)
{
	const char *group = schema->fields[start].group;
	size_t i;

	json_object_begin(json, group);
	json_array_begin(json, "type");
	json_add_string(json, NULL, "object");
	json_add_string(json, NULL, "null");
	json_array_end(json);
	json_object_begin(json, "properties");
	for (i = start; i < schema->count && schema->fields[i].group == group; i++)
		add_property(json, &schema->fields[i]);
	json_object_end(json);
	json_object_end(json);
	return i;
}

static void add_properties(struct json *json, const struct schema *schema)
{
	json_object_begin(json, "properties");
	if (schema->version) {
		json_object_begin(json, "type");
		json_add_string(json, "const", schema->name);
		json_object_end(json);
		json_object_begin(json, "version");
		json_add_u64(json, "const", schema->version);
		json_object_end(json);
	}
	for (size_t i = 0; i < schema->count;) {
		if (!is_output(&schema->fields[i])) {
			i++;
		} else if (schema->fields[i].group) {
			i = add_group(json, schema, i);
		} else {
			add_property(json, &schema->fields[i]);
			i++;
		}
	}
	json_object_end(json);
}

static void add_required(struct json *json, const struct schema *schema)
{
	const char *group = NULL;

	json_array_begin(json, "required");
	if (schema->version) {
		json_add_string(json, NULL, "type");
		json_add_string(json, NULL, "version");
	}
	for (size_t i = 0; i < schema->count; i++) {
		const struct field *field = &schema->fields[i];

		if (is_output(field) && field->group && field->group != group)
			json_add_string(json, NULL, field->group);
		else if (is_output(field) && !field->group && is_required(field))
			json_add_string(json, NULL, field->key);
		group = field->group;
	}
	json_array_end(json);
}

static void add_definition(struct json *json, const struct schema *schema)
{
	json_object_begin(json, definition_of(schema));
	json_add_string(json, "description", schema->help);
	json_add_string(json, "type", "object");
	add_properties(json, schema);
	add_required(json, schema);
	json_object_end(json);
	output_char(json->out, '\n');
}

int schema_json(struct output *out, const struct schema *const *results)
{
	struct definitions definitions = {.items = NULL};
	struct json json = {.out = out};
	int result = 0;

	for (size_t i = 0; result >= 0 && results[i]; i++)
		result = define(&definitions, results[i]);
	json_object_begin(&json, NULL);
	json_add_string(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_add_string(&json, "title", "dwell");
	json_add_string(&json, "description", "A line of JSON that a command writes.");
	json_array_begin(&json, "oneOf");
	for (size_t i = 0; results[i]; i++)
		add_reference(&json, results[i]);
	json_array_end(&json);
	json_object_begin(&json, "$defs");
	output_char(out, '\n');
	for (size_t i = 0; i < definitions.count; i++)
		add_definition(&json, definitions.items[i]);
	json_object_end(&json);
	json_object_end(&json);
	output_char(out, '\n');
	free(definitions.items);
	return result;
}
