// SPDX-License-Identifier: GPL-2.0-or-later
#include "emit/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"

/* Where a part of a path leads. */
struct step {
	bool found;
	const struct schema *schema; /* of the object there; NULL: it is not one */
};

static bool is_named(const char *name, const char *part, size_t length)
{
	return name && strlen(name) == length && !strncmp(name, part, length);
}

static struct step step_to(const struct schema *schema, const char *group, const char *part,
			   size_t length)
{
	for (size_t i = 0; i < schema->count; i++) {
		const struct field *field = &schema->fields[i];
		bool same_group =
			group ? is_named(field->group, group, strcspn(group, ".")) : !field->group;

		if (same_group && is_named(field->key, part, length))
			return (struct step){true, field->schema};
	}
	return (struct step){
		schema->version && !group &&
			(is_named("type", part, length) || is_named("version", part, length)),
		NULL};
}

static bool is_group(const struct schema *schema, const char *part, size_t length)
{
	for (size_t i = 0; i < schema->count; i++)
		if (is_named(schema->fields[i].group, part, length))
			return true;
	return false;
}

json_t *result_read(const struct schema *schema, const json_t *object, const char *path)
{
	const char *group = NULL, *part = path;
	const json_t *value = object;
	char key[64];

	for (;;) {
		size_t length = strcspn(part, ".");
		struct step step = {.found = false};

		if (schema)
			step = step_to(schema, group, part, length);
		if (schema && !group && !step.found && is_group(schema, part, length)) {
			group = part;
		} else if (step.found) {
			schema = step.schema;
			group = NULL;
		} else {
			print_text(stderr, "dwell: no result has %s\n", path);
			abort();
		}
		snprintf(key, sizeof(key), "%.*s", (int)length, part);
		value = json_object_get(value, key);
		if (!part[length])
			return (json_t *)value;
		part += length + 1;
	}
}

const char *result_read_string(const struct schema *schema, const json_t *object, const char *path)
{
	return json_string_value(result_read(schema, object, path));
}

bool result_is(const struct schema *schema, const json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));

	return type && !strcmp(type, schema->name) &&
	       json_integer_value(json_object_get(line, "version")) == schema->version;
}
