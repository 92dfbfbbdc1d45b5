// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "emit/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/similar.h"
#include "base/text.h"

/* Where the search for columns has come to. */
struct walk {
	struct columns *columns;
	unsigned int levels;
	struct column column; /* up to the object at hand */
	char key[128];	      /* of that object, with a dot at the end */
};

static bool is_single(const struct field *field)
{
	return field->type != FIELD_LIST && field->type != FIELD_MAP;
}

static int add_column(struct walk *walk, const struct field *field)
{
	struct columns *columns = walk->columns;
	struct column *column;

	if (array_reserve(&columns->items, &columns->room, columns->count + 1,
			  sizeof(*columns->items)) < 0)
		return -ENOMEM;
	column = &columns->items[columns->count];
	*column = walk->column;
	if (asprintf(&column->key, "%s%s%s%s", walk->key, field->group ? field->group : "",
		     field->group ? "." : "", field->key) < 0)
		return -ENOMEM;
	columns->count++;
	column->name = strdup(field->name ? field->name : column->key);
	for (char *c = column->name; c && *c; c++)
		*c = *c == '-' || *c == '.' ? '_' : *c;
	return column->name ? 0 : -ENOMEM;
}

static int add_fields(struct walk *walk, const struct schema *schema, bool only_of_rows);

/* What comes from the objects around a row keeps its own key alone. */
static int add_object(struct walk *walk, const struct field *field, bool only_of_rows)
{
	size_t length = strlen(walk->key);
	int result;

	if (walk->column.depth >= COLUMN_DEPTH_MAX)
		return 0;
	if (!only_of_rows)
		snprintf(walk->key + length, sizeof(walk->key) - length, "%s%s%s.",
			 field->group ? field->group : "", field->group ? "." : "", field->key);
	result = add_fields(walk, field->schema, only_of_rows);
	walk->key[length] = '\0';
	return result;
}

static int add_fields(struct walk *walk, const struct schema *schema, bool only_of_rows)
{
	unsigned int depth = walk->column.depth;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < schema->count; i++) {
		const struct field *field = &schema->fields[i];

		if (!field->key || !is_single(field) || !field_applies(field, walk->levels) ||
		    (only_of_rows && !(field->flags & FIELD_OF_ROWS)))
			continue;
		walk->column.fields[depth] = field;
		walk->column.schemas[depth] = schema;
		walk->column.depth = depth + 1;
		result = field->type == FIELD_OBJECT ? add_object(walk, field, only_of_rows)
						     : add_column(walk, field);
	}
	walk->column.depth = depth;
	return result;
}

/* The schema's table as this view of it has it; NULL: none. */
static const struct field *table_of(const struct schema *schema, unsigned int levels)
{
	for (size_t i = 0; schema->table && i < schema->count; i++)
		if (schema->fields[i].type == FIELD_LIST &&
		    field_applies(&schema->fields[i], levels) &&
		    (schema->fields[i].schema &&
		     !strcmp(schema->fields[i].schema->name, schema->table)))
			return &schema->fields[i];
	return NULL;
}

int columns_init(struct columns *columns, const struct schema *schema, unsigned int levels)
{
	struct walk walk = {.columns = columns, .levels = levels};
	int result = 0;

	*columns = (struct columns){.items = NULL};
	while (result >= 0 && columns->level_count < COLUMN_LEVELS_MAX) {
		const struct field *table = table_of(schema, levels);

		columns->schemas[columns->level_count] = schema;
		columns->tables[columns->level_count] = table;
		walk.column = (struct column){.level = columns->level_count};
		columns->level_count++;
		result = add_fields(&walk, schema, table != NULL);
		if (!table)
			break;
		schema = table->schema;
	}
	return result;
}

void columns_release(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		free(columns->items[i].key);
		free(columns->items[i].name);
	}
	free(columns->items);
	*columns = (struct columns){.items = NULL};
}

/* NULL: none has that name, key or heading. As similar_same() compares. */
static const struct column *columns_find(const struct columns *columns, const char *name)
{
	const struct column *found = NULL;

	/* names are unique; a key may be what another row's field is named */
	for (size_t i = 0; i < columns->count; i++)
		if (similar_same(columns->items[i].name, name))
			return &columns->items[i];
	for (size_t i = 0; i < columns->count; i++)
		if (similar_same(columns->items[i].key, name))
			return &columns->items[i];
	/* of an object with a name of its own, what comes last: a total */
	for (size_t i = columns->count; i-- > 0;) {
		const struct column *column = &columns->items[i];
		const struct field *object =
			column->depth > 1 ? column->fields[column->depth - 2] : NULL;

		if (object && object->name && similar_same(object->name, name))
			return column;
	}
	/* a heading, or what an object's key ends with, if only one has it */
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = &columns->items[i];
		const struct field *field = column->fields[column->depth - 1];

		if (field->header && similar_same(field->header, name))
			return column;
		if (similar_same(field->key, name)) {
			if (found)
				return NULL;
			found = column;
		}
	}
	return found;
}

static int unknown_field(const struct columns *columns, const char *name, struct error *error)
{
	struct similar similar = {.wanted = name};
	char shown[64];

	for (size_t i = 0; i < columns->count; i++)
		similar_try(&similar, columns->items[i].name);
	text_printable(shown, sizeof(shown), name, 40);
	return similar_error(error, EINVAL, &similar, ": `--fields help` lists them",
			     "unknown field '%s'", shown);
}

static int take_column(struct columns *into, const struct column *column)
{
	if (array_reserve(&into->items, &into->room, into->count + 1, sizeof(*into->items)) < 0)
		return -ENOMEM;
	into->items[into->count] = *column;
	into->items[into->count].key = strdup(column->key);
	into->items[into->count].name = strdup(column->name);
	into->count++;
	return into->items[into->count - 1].key && into->items[into->count - 1].name ? 0 : -ENOMEM;
}

void columns_by_default(struct columns *columns)
{
	size_t kept = 0;

	for (size_t i = 0; i < columns->count; i++) {
		struct column *column = &columns->items[i];

		if (column->fields[column->depth - 1]->flags & FIELD_ON_REQUEST) {
			free(column->key);
			free(column->name);
		} else {
			columns->items[kept++] = *column;
		}
	}
	columns->count = kept;
}

int columns_select(struct columns *columns, const char *list, struct error *error)
{
	struct columns selected = *columns;
	cleanup_free char *copy = strdup(list);
	char *rest = copy, *name;
	int result = copy ? 0 : error_set(error, ENOMEM, "out of memory");

	selected.items = NULL;
	selected.count = selected.room = 0;
	while (result >= 0 && (name = strsep(&rest, ","))) {
		const struct column *column = columns_find(columns, name);

		if (!column)
			result = unknown_field(columns, name, error);
		else if (take_column(&selected, column) < 0)
			result = error_set(error, ENOMEM, "out of memory");
	}
	if (result < 0) {
		columns_release(&selected);
		return result;
	}
	columns_release(columns);
	*columns = selected;
	return 0;
}

void column_get(const struct column *column, const struct item *path, struct value *ret_value)
{
	/* rows that are made for the moment are in these */
	struct value objects[COLUMN_DEPTH_MAX];
	const struct item *item = &path[column->level];

	for (unsigned int i = 0; i + 1 < column->depth; i++) {
		schema_get(column->schemas[i], column->fields[i], item, &objects[i]);
		if (objects[i].kind != VALUE_OBJECT) {
			value_null(ret_value);
			return;
		}
		item = &objects[i].item;
	}
	schema_get(column->schemas[column->depth - 1], column->fields[column->depth - 1], item,
		   ret_value);
}
