// SPDX-License-Identifier: GPL-2.0-or-later
#include "emit/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define X(name) &format_##name,
const struct format *const formats[] = {FORMATS(X)};
#undef X
const size_t format_count = ARRAY_SIZE(formats);

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < format_count; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

int emit_begin(struct emit *emit, const struct format *format, const struct schema *schema,
	       unsigned int levels, const char *fields, struct output *out, struct error *error)
{
	int result = 0;

	*emit = (struct emit){.format = format, .schema = schema, .levels = levels, .out = out};
	if (format->has_rows) {
		if (columns_init(&emit->columns, schema, levels) < 0)
			return error_set(error, ENOMEM, "out of memory");
		if (fields)
			result = columns_select(&emit->columns, fields, error);
		else
			columns_by_default(&emit->columns);
	}
	if (result >= 0 && format->has_rows) {
		emit->values = calloc(emit->columns.count, sizeof(*emit->values));
		result = emit->values ? 0 : error_set(error, ENOMEM, "out of memory");
	}
	if (result >= 0 && format->begin)
		format->begin(emit);
	return result;
}

/* What the columns have that are of the object `level` of the path: once, not for each row in it.
 */
static void get_values(const struct emit *emit, const struct item *path, unsigned int level)
{
	for (size_t i = 0; i < emit->columns.count; i++)
		if (emit->columns.items[i].level == level)
			column_get(&emit->columns.items[i], path, &emit->values[i]);
}

/* `path` has `depth` objects: down to the rows. */
static void emit_rows(const struct emit *emit, struct item *path, unsigned int depth)
{
	const struct columns *columns = &emit->columns;
	const struct field *table = columns->tables[depth - 1];
	struct value list, row;

	get_values(emit, path, depth - 1);
	if (!table) {
		emit->format->row(emit);
		return;
	}
	schema_get(columns->schemas[depth - 1], table, &path[depth - 1], &list);
	for (size_t i = 0; list.kind == VALUE_LIST && i < list.count; i++) {
		schema_element(table, &path[depth - 1], &list, i, &row);
		if (row.kind != VALUE_OBJECT)
			continue;
		path[depth] = row.item;
		emit_rows(emit, path, depth + 1);
	}
}

void emit_result(const struct emit *emit, const struct item *item)
{
	struct item path[COLUMN_LEVELS_MAX] = {*item};

	if (emit->format->has_rows)
		emit_rows(emit, path, 1);
	else
		emit->format->object(emit, item);
}

void emit_end(struct emit *emit)
{
	if (emit->format && emit->format->end)
		emit->format->end(emit);
	columns_release(&emit->columns);
	free(emit->values);
	emit->values = NULL;
}
