// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell compare` says of two sets of loads. docs/formats/json.md is the contract. */
#include <math.h>
#include <string.h>

#include "view/compare.h"

/* A result: the comparison, and what its sides were read from. */
struct compare_row {
	const struct load_comparison *comparison;
	const char *const *paths;
	const struct compare_course *course; /* NULL: of kept runs */
};

static const struct compare_course *course_of(const struct item *item)
{
	return ((const struct compare_row *)item->row)->course;
}

static const struct load_comparison *comparison_of(const struct item *item)
{
	return ((const struct compare_row *)item->row)->comparison;
}

/* A side: the row is a struct load_side, the context its path. */
VALUE_GETTER(get_path, value_string, item->context)

static const struct field left_out_fields[] = {
	NUMBER_MEMBER(struct load_side, left_out.unended, "not_ended",
		      "runs that did not come to their end"),
	NUMBER_MEMBER(struct load_side, left_out.lacking, "lacking_workers",
		      "runs in which a worker did not report"),
	NUMBER_MEMBER(struct load_side, left_out.unwritten, "without_report",
		      "directories without a report.json"),
	NUMBER_MEMBER(struct load_side, left_out.unpaired, "without_pair",
		      "runs beside the pairs that `dwell load --ab` has kept"),
};

static const struct schema left_out_schema = {
	.name = "left_out", .help = "runs that are not compared", SCHEMA_FIELDS(left_out_fields)};

VALUE_GETTER(get_taken, value_real, load_side_taken(item->row))

static const struct field side_fields[] = {
	STRING_FIELD("path", get_path, "what it was read from"),
	NUMBER_MEMBER(struct load_side, runs, "runs", "runs that are compared"),
	NUMBER_MEMBER(struct load_side, failed, "failed", "of these, by their own checks"),
	REAL_FIELD("taken_share", get_taken, "what others and the hypervisor had of the CPUs"),
	OBJECT_FIELD("left_out", get_same_row, &left_out_schema, "runs that are not compared"),
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
	POINTER_MEMBER(struct difference, what, "what", "what is not the same"),
	LIST_FIELD("a", get_values, value_element, NULL, "its values in A", .argument = 0),
	LIST_FIELD("b", get_values, value_element, NULL, "its values in B", .argument = 1),
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
	NUMBER_MEMBER(struct welch_set, count, "runs", "runs in which it was measured"),
	REAL_MEMBER(struct welch_set, mean, "mean", "arithmetic mean"),
	REAL_MEMBER(struct welch_set, min, "min", "the least"),
	REAL_MEMBER(struct welch_set, max, "max", "the largest"),
};

static const struct schema set_schema = {
	.name = "values", .help = "of the runs of a side", SCHEMA_FIELDS(set_fields)};

VALUE_GETTER(get_median_a, value_real, change_of(item)->medians[0])
VALUE_GETTER(get_median_b, value_real, change_of(item)->medians[1])

static void value_set(struct value *value, const struct welch_set *set)
{
	value_object(value, set, NULL);
	if (!set->count)
		value_null(value);
}

VALUE_GETTER(get_metric, value_string, load_metrics[metric_of(item)].key)
VALUE_GETTER(get_unit, value_string, load_metric_base(metric_of(item)))
VALUE_GETTER(get_better, value_text,
	     load_metric_is_neutral(metric_of(item))	      ? NULL
	     : load_metrics[metric_of(item)].higher_is_better ? "high"
							      : "low")
VALUE_GETTER(get_set_a, value_set, &change_of(item)->a)
VALUE_GETTER(get_set_b, value_set, &change_of(item)->b)

/* Of the change, `argument` is the offset. */
FIELD_GETTER(get_change_real)
{
	struct item change = {change_of(item), NULL};

	get_double_member(field, &change, value);
}

VALUE_GETTER(get_wanted, value_number, change_of(item)->wanted)

static const struct field gate_fields[] = {
	REAL_MEMBER(struct load_gate, absolute, "absolute", "in the metric's unit"),
	REAL_MEMBER(struct load_gate, relative, "relative", "share of A's mean"),
};

static const struct schema gate_schema = {
	.name = "gate", .help = "the least change that counts", SCHEMA_FIELDS(gate_fields)};

VALUE_GETTER(get_gate, value_object, &change_of(item)->gate, NULL)
VALUE_GETTER(get_verdict, value_text, compare_verdicts[change_of(item)->verdict])

#define CHANGE_REAL(member, key_, header_, help_)                                                  \
	REAL_FIELD(key_, get_change_real, help_, .header = (header_),                              \
		   .argument = MEMBER(struct load_change, member))

static const struct field metric_fields[] = {
	STRING_FIELD("metric", get_metric, "its name", .header = "METRIC"),
	STRING_FIELD("unit", get_unit, "ns, share, number or per_second"),
	STRING_FIELD("better", get_better, "high or low; null: neither is"),
	OBJECT_FIELD("a", get_set_a, &set_schema, "its values in A"),
	OBJECT_FIELD("b", get_set_b, &set_schema, "its values in B"),
	REAL_FIELD("a_median", get_median_a, "the median of A's runs", .header = "A"),
	REAL_FIELD("b_median", get_median_b, "of B's", .header = "B"),
	CHANGE_REAL(relative, "change", "CHANGE",
		    "of B against A, as a share of A: the median of what pairs of runs show"),
	CHANGE_REAL(low, "low", "LOW", "the change is at least that, with 95 % confidence"),
	CHANGE_REAL(high, "high", "HIGH", "and at most that"),
	CHANGE_REAL(p, "p", "P",
		    "probability of such a difference by chance, corrected for all metrics"),
	OBJECT_FIELD("gate", get_gate, &gate_schema, "the least change that counts"),
	STRING_FIELD("verdict", get_verdict, "worse, better, same or undecided",
		     .header = "VERDICT"),
	INTEGER_FIELD(
		"wanted", get_wanted,
		"runs a side, or pairs, that would decide it; 0: it is decided, or not known"),
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

VALUE_GETTER(get_cgroup, value_text, key_of(item)->cgroup)
VALUE_GETTER(get_group_idx, value_number, key_of(item)->group_idx)
VALUE_GETTER(get_work, value_string, key_of(item)->work)
VALUE_GETTER(get_occurrence, value_number, key_of(item)->occurrence)
VALUE_GETTER(get_in, value_string, in_both(item) ? "both" : compared_of(item)->a ? "a" : "b")

const char *const compare_wakes[LOAD_WAKES_TO_RUN + 1] = {
	[LOAD_WAKES_NONE] = NULL,
	[LOAD_WAKES_RESUME] = "resume",
	[LOAD_WAKES_TO_RUN] = "wake_to_run",
};

FIELD_GETTER(get_wakes)
{
	const struct load_compared *compared = compared_of(item);

	value_text(value,
		   compare_wakes[compared->a->wakes != LOAD_WAKES_NONE ? compared->a->wakes
								       : compared->b->wakes]);
	if (compared->wakes_differ)
		value_null(value);
}

VALUE_GETTER(get_wakes_differ, value_bool, compared_of(item)->wakes_differ)
VALUE_GETTER(get_group_differences, value_differences, &compared_of(item)->a->facts,
	     &compared_of(item)->b->facts)

FIELD_ELEMENT(group_difference)
{
	value_difference(value, &compared_of(item)->a->facts, &compared_of(item)->b->facts, index);
}

VALUE_GETTER(get_metrics, value_elements, LOAD_METRICS)

FIELD_ELEMENT(metric_element)
{
	struct metric_row row = {(enum load_metric)index, &compared_of(item)->changes[index]};

	value_made(value, &row, sizeof(row), NULL);
}

#define OF_BOTH .needs = true, .flags = FIELD_MAYBE

static const struct field group_fields[] = {
	STRING_FIELD("cgroup", get_cgroup, "its cgroup", .header = "CGROUP",
		     .flags = FIELD_OF_ROWS),
	INTEGER_FIELD("group_idx", get_group_idx, "number among the works of its cgroup",
		      .header = "GROUP", .flags = FIELD_OF_ROWS),
	STRING_FIELD("work", get_work, "type of work", .header = "WORK", .flags = FIELD_OF_ROWS),
	INTEGER_FIELD("occurrence", get_occurrence, "how many such groups the run had before",
		      .flags = FIELD_OF_ROWS),
	STRING_FIELD("in", get_in, "both, a or b"),
	STRING_FIELD("wakes", get_wakes, "what metrics of wakeups are of", OF_BOTH),
	BOOL_FIELD("wakes_differ", get_wakes_differ, "not all runs have the same samples", OF_BOTH),
	LIST_FIELD("differences", get_group_differences, group_difference, &difference_schema,
		   "besides the metrics", OF_BOTH),
	LIST_FIELD("metrics", get_metrics, metric_element, &metric_schema, "what changed", OF_BOTH),
};

/* `needs`: only groups that both sides have. */
static unsigned int group_lacks(const struct item *item)
{
	return !in_both(item);
}

static const struct schema group_schema = {.name = "compared_group",
					   .help = "a group of workers in both sides",
					   SCHEMA_FIELDS(group_fields),
					   .lacks = group_lacks,
					   .table = "metric"};

VALUE_GETTER(get_of, value_string, "load")

FIELD_GETTER(get_side)
{
	const struct compare_row *row = item->row;

	value_object(value, field->argument ? row->comparison->b : row->comparison->a,
		     row->paths[field->argument]);
}

VALUE_GETTER(get_alpha, value_real, comparison_of(item)->question.alpha)
VALUE_GETTER(get_paired, value_bool, comparison_of(item)->paired)

FIELD_GETTER(get_answer)
{
	static const char *const answers[] = {
		[LOAD_NOTHING] = "nothing",
		[LOAD_EQUAL] = "same",
		[LOAD_DIFFERENT] = "different",
		[LOAD_OPEN] = "undecided",
	};

	value_string(value, answers[comparison_of(item)->answer]);
}

VALUE_GETTER(get_pairs, value_number, course_of(item)->pairs)
VALUE_GETTER(get_voided, value_number, course_of(item)->voided)
VALUE_GETTER(get_elapsed, value_number, course_of(item)->elapsed_ns)

FIELD_GETTER(get_end)
{
	static const char *const ends[] = {
		[COMPARE_DECIDED] = "decided", [COMPARE_PAIRS] = "pairs",
		[COMPARE_BUDGET] = "budget",   [COMPARE_INTERRUPTED] = "interrupted",
		[COMPARE_FAILED] = "failed",
	};

	value_string(value, ends[course_of(item)->end]);
}

VALUE_GETTER(get_differences, value_differences, &comparison_of(item)->a->facts,
	     &comparison_of(item)->b->facts)

FIELD_ELEMENT(difference_element)
{
	value_difference(value, &comparison_of(item)->a->facts, &comparison_of(item)->b->facts,
			 index);
}

VALUE_GETTER(get_groups, value_rows, comparison_of(item)->groups, comparison_of(item)->count,
	     sizeof(struct load_compared), NULL)
VALUE_GETTER(get_verdicts, value_number, comparison_of(item)->verdicts[field->argument])

/* `needs`: only of --ab. */
#define OF_AB .needs = true, .flags = FIELD_MAYBE

static unsigned int comparison_lacks(const struct item *item)
{
	return !course_of(item);
}

static const struct field compare_fields[] = {
	STRING_FIELD("of", get_of, "load"),
	OBJECT_FIELD("a", get_side, &side_schema, "the first side", .argument = 0),
	OBJECT_FIELD("b", get_side, &side_schema, "the second side", .argument = 1),
	STRING_FIELD("answer", get_answer,
		     "different, same (within the gates), undecided, or nothing in common"),
	REAL_FIELD("alpha", get_alpha,
		   "probability of a wrong answer that was accepted; of --ab, at a look"),
	BOOL_FIELD("paired", get_paired, "the two took turns: their runs are compared in pairs"),
	INTEGER_FIELD("pairs", get_pairs, "compared", OF_AB),
	INTEGER_FIELD("void_pairs", get_voided, "of which a run did not come to its end", OF_AB),
	INTEGER_FIELD("elapsed_ns", get_elapsed, "for all of them", OF_AB),
	STRING_FIELD("end", get_end, "decided, pairs, budget (all of it), interrupted, failed",
		     OF_AB),
	LIST_FIELD("differences", get_differences, difference_element, &difference_schema,
		   "of the runs, besides their metrics"),
	LIST_FIELD("groups", get_groups, NULL, &group_schema, "of workers"),
	INTEGER_FIELD("worse", get_verdicts, "metrics that got worse", .argument = LOAD_WORSE),
	INTEGER_FIELD("better", get_verdicts, "metrics that got better", .argument = LOAD_BETTER),
	INTEGER_FIELD("same", get_verdicts, "metrics that did not change", .argument = LOAD_SAME),
	INTEGER_FIELD("undecided", get_verdicts, "metrics that may have changed or not",
		      .argument = LOAD_UNDECIDED),
	INTEGER_FIELD("one_side_only", get_verdicts, "metrics that are not known of both",
		      .argument = LOAD_UNKNOWN),
};

const struct schema compare_load_schema = {.name = "comparison",
					   .definition = "comparison_of_loads",
					   .help = "what two sets of loads differ in",
					   .version = 1,
					   SCHEMA_FIELDS(compare_fields),
					   .lacks = comparison_lacks,
					   .table = "compared_group"};

void compare_emit(const struct emit *emit, const struct load_comparison *comparison,
		  const char *const paths[2], const struct compare_course *course)
{
	struct compare_row row = {comparison, paths, course};
	struct item item = {&row, NULL};

	emit_result(emit, &item);
}
