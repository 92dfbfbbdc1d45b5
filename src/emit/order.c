// SPDX-License-Identifier: GPL-2.0-or-later
#include "emit/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct ordered_row_text {
	struct order_key key;
	size_t begin, length;
};

int order_key_set(struct order_key *key, const struct value *value, size_t index)
{
	*key = (struct order_key){.index = index};
	switch (value->kind) {
	case VALUE_NUMBER:
	case VALUE_BOOL:
	case VALUE_OBJECT:
		key->number = (long double)value->number;
		break;
	case VALUE_SIGNED:
		key->number = (long double)(int64_t)value->number;
		break;
	case VALUE_REAL:
	case VALUE_SHARE:
		key->number = value->real;
		key->is_missing = isnan(value->real);
		break;
	case VALUE_STRING:
		key->is_text = true;
		key->text = strdup(value->string);
		if (!key->text)
			return -ENOMEM;
		break;
	default:
		key->is_missing = true;
		break;
	}
	return 0;
}

void order_key_release(struct order_key *key)
{
	free(key->text);
	key->text = NULL;
}

int order_keys_compare(const void *left, const void *right)
{
	const struct order_key *a = left, *b = right;
	int order = a->is_missing - b->is_missing;

	if (!order && !a->is_missing)
		order = a->is_text ? strcmp(a->text, b->text)
				   : (a->number < b->number) - (a->number > b->number);
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

int ordered_rows_init(struct ordered_rows *rows)
{
	*rows = (struct ordered_rows){.count = 0};
	return output_init(&rows->text, -1);
}

void ordered_rows_release(struct ordered_rows *rows)
{
	output_release(&rows->text);
	for (size_t i = 0; i < rows->count; i++)
		order_key_release(&rows->rows[i].key);
	free(rows->rows);
	rows->rows = NULL;
}

void ordered_rows_add(struct ordered_rows *rows, const struct value *value)
{
	static const struct value missing = {.kind = VALUE_NULL};
	struct ordered_row_text *row;

	if (array_reserve(&rows->rows, &rows->room, rows->count + 1, sizeof(*rows->rows)) < 0) {
		output_fail(&rows->text, ENOMEM);
		return;
	}
	row = &rows->rows[rows->count];
	if (order_key_set(&row->key, value ? value : &missing, rows->count) < 0) {
		output_fail(&rows->text, ENOMEM);
		return;
	}
	row->begin = rows->begin;
	row->length = rows->text.used - rows->begin;
	rows->begin = rows->text.used;
	rows->count++;
}

void ordered_rows_write(struct ordered_rows *rows, struct output *out, size_t top,
			const char *separator)
{
	size_t count = top && top < rows->count ? top : rows->count;

	if (rows->text.error) {
		output_fail(out, rows->text.error);
		return;
	}
	/* the key is the row's first member */
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), order_keys_compare);
	for (size_t i = 0; i < count; i++) {
		if (i)
			output_string(out, separator);
		output_bytes(out, rows->text.buffer + rows->rows[i].begin, rows->rows[i].length);
	}
}
