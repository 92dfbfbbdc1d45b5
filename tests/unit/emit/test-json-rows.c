// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a long list are written as those of a short one are. */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>

#include "emit/emit.h"

#define ROWS 40

struct thing {
	uint64_t total;
	uint32_t id;
	bool is_late;
	bool has_count;
	const char *name;
	struct inner {
		uint64_t depth;
	} inner;
};

#define NEEDS_COUNT 1U
#define NEEDS_LATE  2U

static unsigned int thing_lacks(const struct item *item)
{
	const struct thing *thing = item->row;

	return (thing->has_count ? 0 : NEEDS_COUNT) | (thing->is_late ? 0 : NEEDS_LATE);
}

static const struct field inner_fields[] = {
	NUMBER_MEMBER(struct inner, depth, "depth", "how deep"),
};

static const struct schema inner_schema = {.name = "inner", SCHEMA_FIELDS(inner_fields)};

VALUE_GETTER(get_inner, value_object, &((const struct thing *)item->row)->inner, NULL)

/* The last two are absent, and their group with them, where they are lacking. */
static const struct field thing_fields[] = {
	NUMBER_MEMBER(struct thing, id, "id", "0: not known", .flags = FIELD_NULL_IF_0),
	POINTER_MEMBER(struct thing, name, "name", "its name"),
	NUMBER_MEMBER(struct thing, total, "total", "of a group", .group = "sums"),
	NUMBER_MEMBER(struct thing, total, "counted", "of a group", .group = "sums",
		      .needs = NEEDS_COUNT),
	OBJECT_FIELD("inner", get_inner, &inner_schema, "an object"),
	BOOL_MEMBER(struct thing, is_late, "is_late", "whether"),
	NUMBER_MEMBER(struct thing, id, "late_id", "of the late", .group = "late",
		      .needs = NEEDS_LATE, .flags = FIELD_MAYBE),
	NUMBER_MEMBER(struct thing, total, "late_total", "of the late", .group = "late",
		      .needs = NEEDS_LATE, .flags = FIELD_MAYBE),
};

static const struct schema thing_schema = {
	.name = "thing", SCHEMA_FIELDS(thing_fields), .lacks = thing_lacks};

struct list {
	const struct thing *things;
	size_t count;
};

static void get_things(const struct field *field, const struct item *item, struct value *value)
{
	const struct list *list = item->row;

	(void)field;
	value_rows(value, list->things, list->count, sizeof(*list->things), NULL);
}

static const struct field list_fields[] = {
	LIST_FIELD("things", get_things, NULL, &thing_schema, "some"),
};

static const struct schema list_schema = {.name = "list", SCHEMA_FIELDS(list_fields)};

/* May be absent in any row, whatever it lacks. */
FIELD_GETTER(get_sometimes)
{
	const struct thing *thing = item->row;

	value_number(value, thing->total);
	if (thing->is_late)
		value_absent(value);
}

static const struct field unsettled_fields[] = {
	NUMBER_MEMBER(struct thing, id, "id", "its number"),
	INTEGER_FIELD("sometimes", get_sometimes, "or not", .flags = FIELD_MAYBE),
};

static const struct schema unsettled_schema = {.name = "unsettled",
					       SCHEMA_FIELDS(unsettled_fields)};

static const struct field unsettled_list_fields[] = {
	LIST_FIELD("things", get_things, NULL, &unsettled_schema, "some"),
};

static const struct schema unsettled_list_schema = {.name = "unsettled_list",
						    SCHEMA_FIELDS(unsettled_list_fields)};

static void make_things(struct thing things[ROWS])
{
	static const char *const names[] = {
		"a",	      "\"quoted\"", "",
		"line\nfeed", NULL,	    "a name that is longer than one copy of a fixed size"};

	for (size_t i = 0; i < ROWS; i++)
		things[i] = (struct thing){
			.id = (uint32_t)(i % 3 * i),
			.total = i % 5 ? UINT64_MAX >> i : 0,
			.name = names[i % ARRAY_SIZE(names)],
			.has_count = i % 7 != 0,
			.is_late = i % 11 == 10,
			.inner.depth = i * i * i,
		};
}

/* All rows as one list, and one row after the other. */
static void check_rows(const struct schema *list, const struct schema *row)
{
	struct thing things[ROWS];
	struct list all = {things, ROWS};
	struct item item = {&all, NULL};
	struct output together, each;

	make_things(things);
	assert_int_equal(output_init(&together, -1), 0);
	assert_int_equal(output_init(&each, -1), 0);
	emit_json_line(&together, list, &item);
	output_string(&each, "{\"things\":[");
	for (size_t i = 0; i < ROWS; i++) {
		struct json json = {.out = &each};

		if (i)
			output_char(&each, ',');
		emit_json_object(&json, NULL, row, &(struct item){&things[i], NULL});
	}
	output_string(&each, "]}\n");
	output_char(&together, '\0');
	output_char(&each, '\0');
	assert_string_equal(together.buffer, each.buffer);
	output_release(&together);
	output_release(&each);
}

CASE(rows_of_a_long_list_are_written_as_one_alone_is)
{
	check_rows(&list_schema, &thing_schema);
}

CASE(rows_whose_keys_differ_are_written_as_one_alone_is)
{
	check_rows(&unsettled_list_schema, &unsettled_schema);
}

CASE(what_a_row_lacks_is_null_or_absent)
{
	struct thing thing = {.name = "x", .total = 7};
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	emit_json_line(&out, &thing_schema, &(struct item){&thing, NULL});
	thing = (struct thing){.id = 3, .has_count = true, .is_late = true};
	emit_json_line(&out, &thing_schema, &(struct item){&thing, NULL});
	output_char(&out, '\0');
	assert_string_equal(out.buffer,
			    "{\"id\":null,\"name\":\"x\",\"sums\":{\"total\":7,\"counted\":null},"
			    "\"inner\":{\"depth\":0},\"is_late\":false,\"late\":null}\n"
			    "{\"id\":3,\"name\":null,\"sums\":{\"total\":0,\"counted\":0},"
			    "\"inner\":{\"depth\":0},\"is_late\":true,\"late\":{\"late_id\":3,"
			    "\"late_total\":0}}\n");
	output_release(&out);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(rows_of_a_long_list_are_written_as_one_alone_is),
		cmocka_unit_test(rows_whose_keys_differ_are_written_as_one_alone_is),
		cmocka_unit_test(what_a_row_lacks_is_null_or_absent),
	};

	return RUN(cases);
}
