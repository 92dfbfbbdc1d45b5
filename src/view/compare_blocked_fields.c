// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell compare` says of blocked workers. docs/formats/json.md is the contract. */
#include "view/compare.h"

#define STRING .type = FIELD_STRING

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

FIELD_GETTER(get_file)
{
	value_string(value, result_of(item)->paths[*(const int *)item->context]);
}

FIELD_GETTER(get_duration)
{
	value_number(value, side_of(item)->duration_ns);
}

FIELD_GETTER(get_threshold)
{
	value_number(value, side_of(item)->threshold_ns);
}

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
	{.key = "file", .help = "what it was read from", .get = get_file, STRING},
	{.key = "duration_ns", .help = "time measured", .get = get_duration},
	{.key = "threshold_ns", .help = "what took longer was a stall", .get = get_threshold},
	{.key = "share", .help = "of the time in stalls", .get = get_share, .type = FIELD_SHARE},
};

static const struct schema side_schema = {
	.name = "measurement", .help = "one of the two", SCHEMA_FIELDS(side_fields)};

FIELD_GETTER(get_side)
{
	value_object(value, item->row, &numbers[field->argument]);
}

/* A hotspot of a side: the row is the item of both, the context as above. */
static const struct comparison_item *item_of(const struct item *item)
{
	return item->row;
}

static const struct compared_hotspot *hotspot_of(const struct item *item)
{
	return *(const int *)item->context ? &item_of(item)->b : &item_of(item)->a;
}

FIELD_GETTER(get_count)
{
	value_number(value, hotspot_of(item)->count);
}

FIELD_GETTER(get_total)
{
	value_number(value, hotspot_of(item)->total_ns);
}

FIELD_GETTER(get_max)
{
	value_number(value, hotspot_of(item)->max_ns);
}

FIELD_GETTER(get_hotspot_share)
{
	value_share(value,
		    *(const int *)item->context ? item_of(item)->share_b : item_of(item)->share_a);
}

static const struct field hotspot_fields[] = {
	{.key = "count", .help = "stalls", .get = get_count},
	{.key = "total_ns", .help = "their time", .get = get_total},
	{.key = "max_ns", .help = "the longest", .get = get_max},
	{.key = "share",
	 .help = "of the time measured",
	 .get = get_hotspot_share,
	 .type = FIELD_SHARE},
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

FIELD_GETTER(get_change)
{
	value_string(value, compare_changes[item_of(item)->change]);
}

FIELD_GETTER(get_function)
{
	value_string(value, item_of(item)->function);
}

FIELD_GETTER(get_cause)
{
	value_string(value, item_of(item)->cause);
}

static const struct field item_fields[] = {
	{.key = "change",
	 .header = "CHANGE",
	 .help = "new, worse, same, better or gone",
	 .get = get_change,
	 STRING},
	{.key = "function",
	 .header = "FUNCTION",
	 .help = "that stalled",
	 .get = get_function,
	 STRING},
	{.key = "cause", .header = "CAUSE", .help = "of the stalls", .get = get_cause, STRING},
	{.key = "a",
	 .help = "in A; null: none",
	 .get = get_of_side,
	 .argument = 0,
	 .type = FIELD_OBJECT,
	 .schema = &hotspot_schema},
	{.key = "b",
	 .help = "in B; null: none",
	 .get = get_of_side,
	 .argument = 1,
	 .type = FIELD_OBJECT,
	 .schema = &hotspot_schema},
};

static const struct schema item_schema = {.name = "compared_hotspot",
					  .help = "stalls of a function and cause in both",
					  SCHEMA_FIELDS(item_fields)};

FIELD_GETTER(get_of)
{
	value_string(value, "blocked");
}

FIELD_GETTER(get_hotspots)
{
	const struct comparison *comparison = result_of(item)->comparison;

	value_rows(value, comparison->items, comparison->count, sizeof(comparison->items[0]), NULL);
}

static const struct field compare_fields[] = {
	{.key = "of", .help = "blocked", .get = get_of, STRING},
	{.key = "a",
	 .help = "the first measurement",
	 .get = get_side,
	 .argument = 0,
	 .type = FIELD_OBJECT,
	 .schema = &side_schema},
	{.key = "b",
	 .help = "the second",
	 .get = get_side,
	 .argument = 1,
	 .type = FIELD_OBJECT,
	 .schema = &side_schema},
	{.key = "hotspots",
	 .help = "of both",
	 .get = get_hotspots,
	 .type = FIELD_LIST,
	 .schema = &item_schema},
};

const struct schema compare_blocked_schema = {
	.name = "comparison",
	.definition = "comparison_of_blocked",
	.help = "what two measurements of blocked workers differ in",
	.version = 1,
	SCHEMA_FIELDS(compare_fields),
	.table = "compared_hotspot"};
