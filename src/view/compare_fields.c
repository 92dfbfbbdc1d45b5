// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell compare` says of two sets of loads. docs/formats/json.md is the contract. */
#include <math.h>
#include <string.h>

#include "view/compare.h"

#define STRING .type = FIELD_STRING
#define REAL   .type = FIELD_REAL

/* A result: the comparison, and what its sides were read from. */
struct compare_row {
	const struct load_comparison *comparison;
	const char *const *paths;
};

static const struct load_comparison *comparison_of(const struct item *item)
{
	return ((const struct compare_row *)item->row)->comparison;
}

/* A side: the row is a struct load_side, the context its path. */
FIELD_GETTER(get_path)
{
	value_string(value, item->context);
}

static const struct field left_out_fields[] = {
	NUMBER_FIELD(struct load_side, left_out.unended, "not_ended",
		     "runs that did not come to their end"),
	NUMBER_FIELD(struct load_side, left_out.lacking, "lacking_workers",
		     "runs in which a worker did not report"),
	NUMBER_FIELD(struct load_side, left_out.unwritten, "without_report",
		     "directories without a report.json"),
};

static const struct schema left_out_schema = {
	.name = "left_out", .help = "runs that are not compared", SCHEMA_FIELDS(left_out_fields)};

static const struct field side_fields[] = {
	{.key = "path", .help = "what it was read from", .get = get_path, STRING},
	NUMBER_FIELD(struct load_side, runs, "runs", "runs that are compared"),
	NUMBER_FIELD(struct load_side, failed, "failed", "of these, by their own checks"),
	{.key = "left_out",
	 .help = "runs that are not compared",
	 .get = get_same_row,
	 .type = FIELD_OBJECT,
	 .schema = &left_out_schema},
};

static const struct schema side_schema = {
	.name = "side", .help = "a set of runs", SCHEMA_FIELDS(side_fields)};

/* Facts of two sides that differ: one for each position of load_facts_differing(). */
struct difference {
	const char *what;
	const struct load_facts *sides[2];
};

FIELD_GETTER(get_values)
{
	const struct difference *difference = item->row;

	value_elements(value, difference->sides[field->argument]->count);
}

FIELD_ELEMENT(value_element)
{
	const struct difference *difference = item->row;
	const struct load_fact *fact = &difference->sides[field->argument]->items[index];

	if (strcmp(fact->what, difference->what))
		value_absent(value);
	else
		value_string(value, fact->value);
}

static const struct field difference_fields[] = {
	POINTER_FIELD(struct difference, what, "what", "what is not the same"),
	{.key = "a",
	 .help = "its values in A",
	 .get = get_values,
	 .element = value_element,
	 .argument = 0,
	 .type = FIELD_LIST},
	{.key = "b",
	 .help = "its values in B",
	 .get = get_values,
	 .element = value_element,
	 .argument = 1,
	 .type = FIELD_LIST},
};

static const struct schema difference_schema = {.name = "difference",
						.help = "what differs besides the metrics",
						SCHEMA_FIELDS(difference_fields)};

static void value_differences(struct value *value, const struct load_facts *a,
			      const struct load_facts *b)
{
	size_t position = 0, count = 0;

	while (load_facts_differing(a, b, &position))
		count++;
	value_elements(value, count);
}

static void value_difference(struct value *value, const struct load_facts *a,
			     const struct load_facts *b, size_t index)
{
	struct difference difference = {.sides = {a, b}};
	size_t position = 0;

	for (size_t i = 0; i <= index; i++)
		difference.what = load_facts_differing(a, b, &position);
	value_made(value, &difference, sizeof(difference), NULL);
}

/* A metric of a group. */
struct metric_row {
	enum load_metric metric;
	const struct load_change *change;
};

static const struct load_change *change_of(const struct item *item)
{
	return ((const struct metric_row *)item->row)->change;
}

static enum load_metric metric_of(const struct item *item)
{
	return ((const struct metric_row *)item->row)->metric;
}

static const struct field set_fields[] = {
	NUMBER_FIELD(struct welch_set, count, "runs", "runs in which it was measured"),
	REAL_FIELD(struct welch_set, mean, "mean", "arithmetic mean"),
	REAL_FIELD(struct welch_set, min, "min", "the least"),
	REAL_FIELD(struct welch_set, max, "max", "the largest"),
};

static const struct schema set_schema = {
	.name = "values", .help = "of the runs of a side", SCHEMA_FIELDS(set_fields)};

static void value_set(struct value *value, const struct welch_set *set)
{
	value_object(value, set, NULL);
	if (!set->count)
		value_null(value);
}

FIELD_GETTER(get_metric)
{
	value_string(value, load_metrics[metric_of(item)].key);
}

FIELD_GETTER(get_unit)
{
	value_string(value, load_metric_base(metric_of(item)));
}

FIELD_GETTER(get_better)
{
	value_string(value, load_metrics[metric_of(item)].higher_is_better ? "high" : "low");
}

FIELD_GETTER(get_set_a)
{
	value_set(value, &change_of(item)->a);
}

FIELD_GETTER(get_set_b)
{
	value_set(value, &change_of(item)->b);
}

/* Of the change, `argument` is the offset. */
FIELD_GETTER(get_change_real)
{
	struct item change = {change_of(item), NULL};

	get_double_member(field, &change, value);
}

FIELD_GETTER(get_disjoint)
{
	const struct load_change *change = change_of(item);

	value_bool(value, change->disjoint);
	if (change->a.count < 2 || change->b.count < 2)
		value_null(value);
}

static const struct field gate_fields[] = {
	REAL_FIELD(struct load_gate, absolute, "absolute", "in the metric's unit"),
	REAL_FIELD(struct load_gate, relative, "relative", "share of A's mean"),
};

static const struct schema gate_schema = {
	.name = "gate", .help = "the least change that counts", SCHEMA_FIELDS(gate_fields)};

FIELD_GETTER(get_gate)
{
	value_object(value, &change_of(item)->gate, NULL);
}

FIELD_GETTER(get_verdict)
{
	value_text(value, compare_verdicts[change_of(item)->verdict]);
}

#define CHANGE_REAL(member, key_, header_, help_)                                                  \
	{                                                                                          \
		.key = (key_), .header = (header_), .help = (help_), .get = get_change_real,       \
		.argument = MEMBER(struct load_change, member), REAL                               \
	}

static const struct field metric_fields[] = {
	{.key = "metric", .header = "METRIC", .help = "its name", .get = get_metric, STRING},
	{.key = "unit", .help = "ns, share, number or per_second", .get = get_unit, STRING},
	{.key = "better", .help = "high or low", .get = get_better, STRING},
	{.key = "a",
	 .help = "its values in A",
	 .get = get_set_a,
	 .type = FIELD_OBJECT,
	 .schema = &set_schema},
	{.key = "b",
	 .help = "its values in B",
	 .get = get_set_b,
	 .type = FIELD_OBJECT,
	 .schema = &set_schema},
	CHANGE_REAL(delta, "delta", NULL, "difference of the means"),
	CHANGE_REAL(relative, "change", "CHANGE", "the same, divided by A's mean"),
	CHANGE_REAL(p, "p", "P", "Welch's t-test, two-sided"),
	{.key = "disjoint",
	 .help = "the ranges have no point in common",
	 .get = get_disjoint,
	 .type = FIELD_BOOL},
	{.key = "gate",
	 .help = "the least change that counts",
	 .get = get_gate,
	 .type = FIELD_OBJECT,
	 .schema = &gate_schema},
	{.key = "verdict",
	 .header = "VERDICT",
	 .help = "worse, better or same",
	 .get = get_verdict,
	 STRING},
};

const struct schema metric_schema = {
	.name = "metric", .help = "a figure of a group", SCHEMA_FIELDS(metric_fields)};

/* A group: the row is a struct load_compared. */

static const struct load_compared *compared_of(const struct item *item)
{
	return item->row;
}

static const struct load_group_key *key_of(const struct item *item)
{
	const struct load_compared *compared = compared_of(item);

	return compared->a ? &compared->a->key : &compared->b->key;
}

static bool in_both(const struct item *item)
{
	return compared_of(item)->a && compared_of(item)->b;
}

FIELD_GETTER(get_cgroup)
{
	value_text(value, key_of(item)->cgroup);
}

FIELD_GETTER(get_group_idx)
{
	value_number(value, key_of(item)->group_idx);
}

FIELD_GETTER(get_work)
{
	value_string(value, key_of(item)->work);
}

FIELD_GETTER(get_occurrence)
{
	value_number(value, key_of(item)->occurrence);
}

FIELD_GETTER(get_in)
{
	value_string(value, in_both(item) ? "both" : compared_of(item)->a ? "a" : "b");
}

FIELD_GETTER(get_wakes)
{
	static const char *const keys[] = {
		[LOAD_WAKES_NONE] = NULL,
		[LOAD_WAKES_RESUME] = "resume",
		[LOAD_WAKES_TO_RUN] = "wake_to_run",
	};
	const struct load_compared *compared = compared_of(item);

	value_text(value, keys[compared->a->wakes != LOAD_WAKES_NONE ? compared->a->wakes
								     : compared->b->wakes]);
	if (compared->wakes_differ)
		value_null(value);
}

FIELD_GETTER(get_wakes_differ)
{
	value_bool(value, compared_of(item)->wakes_differ);
}

FIELD_GETTER(get_group_differences)
{
	value_differences(value, &compared_of(item)->a->facts, &compared_of(item)->b->facts);
}

FIELD_ELEMENT(group_difference)
{
	value_difference(value, &compared_of(item)->a->facts, &compared_of(item)->b->facts, index);
}

FIELD_GETTER(get_metrics)
{
	value_elements(value, LOAD_METRICS);
}

FIELD_ELEMENT(metric_element)
{
	struct metric_row row = {(enum load_metric)index, &compared_of(item)->changes[index]};

	value_made(value, &row, sizeof(row), NULL);
}

#define OF_BOTH .needs = true, .flags = FIELD_MAYBE

static const struct field group_fields[] = {
	{.key = "cgroup",
	 .header = "CGROUP",
	 .help = "its cgroup",
	 .get = get_cgroup,
	 STRING,
	 .flags = FIELD_OF_ROWS},
	{.key = "group_idx",
	 .header = "GROUP",
	 .help = "number among the works of its cgroup",
	 .get = get_group_idx,
	 .flags = FIELD_OF_ROWS},
	{.key = "work",
	 .header = "WORK",
	 .help = "type of work",
	 .get = get_work,
	 STRING,
	 .flags = FIELD_OF_ROWS},
	{.key = "occurrence",
	 .help = "how many such groups the run had before",
	 .get = get_occurrence,
	 .flags = FIELD_OF_ROWS},
	{.key = "in", .help = "both, a or b", .get = get_in, STRING},
	{.key = "wakes",
	 .help = "what metrics of wakeups are of",
	 .get = get_wakes,
	 STRING,
	 OF_BOTH},
	{.key = "wakes_differ",
	 .help = "not all runs have the same samples",
	 .get = get_wakes_differ,
	 .type = FIELD_BOOL,
	 OF_BOTH},
	{.key = "differences",
	 .help = "besides the metrics",
	 .get = get_group_differences,
	 .element = group_difference,
	 .type = FIELD_LIST,
	 .schema = &difference_schema,
	 OF_BOTH},
	{.key = "metrics",
	 .help = "what changed",
	 .get = get_metrics,
	 .element = metric_element,
	 .type = FIELD_LIST,
	 .schema = &metric_schema,
	 OF_BOTH},
};

/* `needs`: only groups that both sides have. */
static void get_of_group(const struct field *field, const struct item *item, struct value *value)
{
	if (field->needs && !in_both(item))
		value_absent(value);
	else
		field->get(field, item, value);
}

static const struct schema group_schema = {.name = "compared_group",
					   .help = "a group of workers in both sides",
					   SCHEMA_FIELDS(group_fields),
					   .get = get_of_group,
					   .table = "metric"};

FIELD_GETTER(get_of)
{
	value_string(value, "load");
}

FIELD_GETTER(get_side)
{
	const struct compare_row *row = item->row;

	value_object(value, field->argument ? row->comparison->b : row->comparison->a,
		     row->paths[field->argument]);
}

FIELD_GETTER(get_repeated)
{
	value_bool(value, load_comparison_repeated(comparison_of(item)));
}

FIELD_GETTER(get_differences)
{
	value_differences(value, &comparison_of(item)->a->facts, &comparison_of(item)->b->facts);
}

FIELD_ELEMENT(difference_element)
{
	value_difference(value, &comparison_of(item)->a->facts, &comparison_of(item)->b->facts,
			 index);
}

FIELD_GETTER(get_groups)
{
	value_rows(value, comparison_of(item)->groups, comparison_of(item)->count,
		   sizeof(struct load_compared), NULL);
}

FIELD_GETTER(get_verdicts)
{
	value_number(value, comparison_of(item)->verdicts[field->argument]);
}

static const struct field compare_fields[] = {
	{.key = "of", .help = "load", .get = get_of, STRING},
	{.key = "a",
	 .help = "the first side",
	 .get = get_side,
	 .argument = 0,
	 .type = FIELD_OBJECT,
	 .schema = &side_schema},
	{.key = "b",
	 .help = "the second side",
	 .get = get_side,
	 .argument = 1,
	 .type = FIELD_OBJECT,
	 .schema = &side_schema},
	{.key = "repeated",
	 .help = "both sides have several runs",
	 .get = get_repeated,
	 .type = FIELD_BOOL},
	{.key = "differences",
	 .help = "of the runs, besides their metrics",
	 .get = get_differences,
	 .element = difference_element,
	 .type = FIELD_LIST,
	 .schema = &difference_schema},
	{.key = "groups",
	 .help = "of workers",
	 .get = get_groups,
	 .type = FIELD_LIST,
	 .schema = &group_schema},
	{.key = "worse",
	 .help = "metrics that got worse",
	 .get = get_verdicts,
	 .argument = LOAD_WORSE},
	{.key = "better",
	 .help = "metrics that got better",
	 .get = get_verdicts,
	 .argument = LOAD_BETTER},
	{.key = "same",
	 .help = "metrics that did not change",
	 .get = get_verdicts,
	 .argument = LOAD_SAME},
	{.key = "one_side_only",
	 .help = "metrics that are not known of both",
	 .get = get_verdicts,
	 .argument = LOAD_UNKNOWN},
};

const struct schema compare_load_schema = {.name = "comparison",
					   .definition = "comparison_of_loads",
					   .help = "what two sets of loads differ in",
					   .version = 1,
					   SCHEMA_FIELDS(compare_fields),
					   .table = "compared_group"};

void compare_emit(const struct emit *emit, const struct load_comparison *comparison,
		  const char *const paths[2])
{
	struct compare_row row = {comparison, paths};
	struct item item = {&row, NULL};

	emit_result(emit, &item);
}
