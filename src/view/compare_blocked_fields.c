// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell compare` says of blocked workers. docs/formats/json.md is the contract. */
#include "view/compare.h"

static const struct blocked_comparison *result_of(const struct item *item)
{
	return item->row;
}

/* A side: the row is the result, the context one of the two numbers below. */
static const int numbers[2] = {0, 1};

static const struct compared_side *side_of(const struct item *item)
{
	return result_of(item)->sides[*(const int *)item->context];
}

VALUE_GETTER(get_file, value_string, result_of(item)->paths[*(const int *)item->context])
VALUE_GETTER(get_duration, value_number, side_of(item)->duration_ns)
VALUE_GETTER(get_threshold, value_number, side_of(item)->threshold_ns)

static void value_share(struct value *value, double share)
{
	value->kind = VALUE_SHARE;
	value->real = share;
}

FIELD_GETTER(get_share)
{
	const struct comparison *comparison = result_of(item)->comparison;

	value_share(value, *(const int *)item->context ? comparison->share_b : comparison->share_a);
}

static const struct field side_fields[] = {
	STRING_FIELD("file", get_file, "what it was read from"),
	INTEGER_FIELD("duration_ns", get_duration, "time measured"),
	INTEGER_FIELD("threshold_ns", get_threshold, "what took longer was a stall"),
	SHARE_FIELD("share", get_share, "of the time in stalls"),
};

static const struct schema side_schema = {
	.name = "measurement", .help = "one of the two", SCHEMA_FIELDS(side_fields)};

VALUE_GETTER(get_side, value_object, item->row, &numbers[field->argument])

/* A hotspot of a side: the row is the item of both, the context as above. */
static const struct comparison_item *item_of(const struct item *item)
{
	return item->row;
}

static const struct compared_hotspot *hotspot_of(const struct item *item)
{
	return *(const int *)item->context ? &item_of(item)->b : &item_of(item)->a;
}

VALUE_GETTER(get_count, value_number, hotspot_of(item)->count)
VALUE_GETTER(get_total, value_number, hotspot_of(item)->total_ns)
VALUE_GETTER(get_max, value_number, hotspot_of(item)->max_ns)

FIELD_GETTER(get_hotspot_share)
{
	value_share(value,
		    *(const int *)item->context ? item_of(item)->share_b : item_of(item)->share_a);
}

static const struct field hotspot_fields[] = {
	INTEGER_FIELD("count", get_count, "stalls"),
	INTEGER_FIELD("total_ns", get_total, "their time"),
	INTEGER_FIELD("max_ns", get_max, "the longest"),
	SHARE_FIELD("share", get_hotspot_share, "of the time measured"),
};

static const struct schema hotspot_schema = {
	.name = "compared_stalls", .help = "of one side", SCHEMA_FIELDS(hotspot_fields)};

FIELD_GETTER(get_of_side)
{
	const struct comparison_item *both = item_of(item);

	value_object(value, both, &numbers[field->argument]);
	if (!(field->argument ? both->b.count : both->a.count))
		value_null(value);
}

VALUE_GETTER(get_change, value_string, compare_changes[item_of(item)->change])
VALUE_GETTER(get_function, value_string, item_of(item)->function)
VALUE_GETTER(get_cause, value_string, item_of(item)->cause)

static const struct field item_fields[] = {
	STRING_FIELD("change", get_change, "new, worse, same, better or gone", .header = "CHANGE"),
	STRING_FIELD("function", get_function, "that stalled", .header = "FUNCTION", .width = 40),
	STRING_FIELD("cause", get_cause, "of the stalls", .header = "CAUSE"),
	OBJECT_FIELD("a", get_of_side, &hotspot_schema, "in A; null: none", .argument = 0),
	OBJECT_FIELD("b", get_of_side, &hotspot_schema, "in B; null: none", .argument = 1),
};

static const struct schema item_schema = {.name = "compared_hotspot",
					  .help = "stalls of a function and cause in both",
					  SCHEMA_FIELDS(item_fields)};

VALUE_GETTER(get_of, value_string, "blocked")

FIELD_GETTER(get_hotspots)
{
	const struct comparison *comparison = result_of(item)->comparison;

	value_rows(value, comparison->items, comparison->count, sizeof(comparison->items[0]), NULL);
}

static const struct field compare_fields[] = {
	STRING_FIELD("of", get_of, "blocked"),
	OBJECT_FIELD("a", get_side, &side_schema, "the first measurement", .argument = 0),
	OBJECT_FIELD("b", get_side, &side_schema, "the second", .argument = 1),
	LIST_FIELD("hotspots", get_hotspots, NULL, &item_schema, "of both"),
};

const struct schema compare_blocked_schema = {
	.name = "comparison",
	.definition = "comparison_of_blocked",
	.help = "what two measurements of blocked workers differ in",
	.version = 1,
	SCHEMA_FIELDS(compare_fields),
	.table = "compared_hotspot"};
