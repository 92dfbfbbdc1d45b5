// SPDX-License-Identifier: GPL-2.0-or-later
#include "emit/schema.h"

#include <string.h>

void schema_element(const struct field *field, const struct item *item, const struct value *list,
		    size_t index, struct value *ret_value)
{
	if (field->element)
		field->element(field, item, index, ret_value);
	else
		value_object(ret_value, (const char *)list->item.row + index * list->stride,
			     list->item.context);
}

void value_bytes(struct value *value, const char *bytes, size_t size)
{
	size_t length = strnlen(bytes, size < VALUE_TEXT_BYTES ? size : VALUE_TEXT_BYTES - 1);

	memcpy(value->text, bytes, length);
	value->text[length] = '\0';
	value_string(value, value->text);
}

static const char *member(const struct field *field, const struct item *item)
{
	return (const char *)item->row + field->argument;
}

static void put_number(const struct field *field, uint64_t number, struct value *value)
{
	value_known(value, number, number || !(field->flags & FIELD_NULL_IF_0));
}

void get_u64_member(const struct field *field, const struct item *item, struct value *value)
{
	put_number(field, *(const uint64_t *)(const void *)member(field, item), value);
}

void get_u32_member(const struct field *field, const struct item *item, struct value *value)
{
	put_number(field, *(const uint32_t *)(const void *)member(field, item), value);
}

void get_bool_member(const struct field *field, const struct item *item, struct value *value)
{
	value_bool(value, *(const bool *)member(field, item));
}

void get_double_member(const struct field *field, const struct item *item, struct value *value)
{
	value_real(value, *(const double *)(const void *)member(field, item));
}

void get_pointer_member(const struct field *field, const struct item *item, struct value *value)
{
	value_text(value, *(const char *const *)(const void *)member(field, item));
}

void get_array_member(const struct field *field, const struct item *item, struct value *value)
{
	value_text(value, member(field, item));
}

void get_same_row(const struct field *field, const struct item *item, struct value *value)
{
	(void)field;
	value_object(value, item->row, item->context);
}
