// SPDX-License-Identifier: GPL-2.0-or-later
#include "emit/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/window.h"

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

/* The columns to write, and room for their values. */
static int begin_rows(struct emit *emit, const char *fields, struct error *error)
{
	int result = 0;

	if (columns_init(&emit->columns, emit->schema, emit->levels) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (fields)
		result = columns_select(&emit->columns, fields, error);
	else
		columns_by_default(&emit->columns);
	if (result < 0)
		return result;
	emit->values = calloc(emit->columns.count, sizeof(*emit->values));
	return emit->values ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int begin_order(struct emit *emit, const struct order *order, struct error *error)
{
	emit->order = *order;
	if (columns_init(&emit->ordering, emit->schema, emit->levels) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return order->field ? columns_select(&emit->ordering, order->field, error) : 0;
}

int emit_begin(struct emit *emit, const struct format *format, const struct schema *schema,
	       unsigned int levels, const char *fields, const struct order *order,
	       struct output *out, struct error *error)
{
	int result = 0;

	*emit = (struct emit){.format = format,
			      .schema = schema,
			      .levels = levels,
			      .out = out,
			      .is_cut = window_columns(out->fd) > 0};
	if (format->has_rows)
		result = begin_rows(emit, fields, error);
	if (result >= 0 && order && (order->field || order->top))
		result = begin_order(emit, order, error);
	if (result >= 0 && format->begin)
		format->begin(emit);
	return result;
}

const struct field *emit_ordered_list(const struct emit *emit)
{
	unsigned int level_count = emit->ordering.level_count;

	return level_count > 1 ? emit->ordering.tables[level_count - 2] : NULL;
}

bool emit_order_value(const struct emit *emit, const struct item *path, struct value *ret_value)
{
	if (!emit->order.field)
		return false;
	column_get(&emit->ordering.items[0], path, ret_value);
	return true;
}

/* What the columns have that are of the object `level` of the path: once, not for each row in it.
 */
static void get_values(const struct emit *emit, const struct item *path, unsigned int level)
{
	for (size_t i = 0; i < emit->columns.count; i++)
		if (emit->columns.items[i].level == level)
			column_get(&emit->columns.items[i], path, &emit->values[i]);
}

static void emit_row(const struct emit *emit, const struct item *path)
{
	struct value key;

	emit->format->row(emit);
	if (emit->ordered)
		ordered_rows_add(emit->ordered, emit_order_value(emit, path, &key) ? &key : NULL);
}

/* `path` has `depth` objects: down to the rows. */
static void emit_rows(const struct emit *emit, struct item *path, unsigned int depth)
{
	const struct columns *columns = &emit->columns;
	const struct field *table = columns->tables[depth - 1];
	struct value list, row;

	get_values(emit, path, depth - 1);
	if (!table) {
		emit_row(emit, path);
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

/* The rows of one result, sorted when all are known. */
static void emit_ordered(const struct emit *emit, struct item *path)
{
	struct ordered_rows ordered;
	struct emit rows = *emit;

	rows.out = &ordered.text;
	rows.ordered = &ordered;
	if (ordered_rows_init(&ordered) < 0) {
		output_fail(emit->out, ENOMEM);
		return;
	}
	emit_rows(&rows, path, 1);
	ordered_rows_write(&ordered, emit->out, emit->order.top, "");
	ordered_rows_release(&ordered);
}

void emit_result(const struct emit *emit, const struct item *item)
{
	struct item path[COLUMN_LEVELS_MAX] = {*item};

	if (!emit->format->has_rows)
		emit->format->object(emit, item);
	else if (emit_ordered_list(emit))
		emit_ordered(emit, path);
	else
		emit_rows(emit, path, 1);
}

void emit_end(struct emit *emit)
{
	if (emit->format && emit->format->end)
		emit->format->end(emit);
	columns_release(&emit->columns);
	columns_release(&emit->ordering);
	free(emit->values);
	emit->values = NULL;
}
