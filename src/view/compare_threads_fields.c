// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell compare` says of two recordings of threads. docs/formats/json.md is the contract. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/columns.h"
#include "emit/order.h"
#include "model/reason.h"
#include "view/blame.h"
#include "view/compare_threads.h"

static const struct thread_comparison *result_of(const struct item *item)
{
	return item->row;
}

/* A recording: the row is the result, the context one of the two numbers below. */
static const int numbers[2] = {0, 1};

static int side_of(const struct item *item)
{
	return *(const int *)item->context;
}

static const struct shares *shares_of(const struct item *item)
{
	return result_of(item)->comparison->sides[side_of(item)];
}

VALUE_GETTER(get_file, value_string, result_of(item)->paths[side_of(item)])
VALUE_GETTER(get_duration, value_number, batches_duration_ns(&shares_of(item)->batches))
VALUE_GETTER(get_intervals, value_number, shares_of(item)->intervals)
VALUE_GETTER(get_batches, value_number, result_of(item)->comparison->batches[side_of(item)])
VALUE_GETTER(get_cpus, value_number, shares_of(item)->session.cpus)
VALUE_GETTER(get_host, value_bytes, shares_of(item)->session.host,
	     sizeof(shares_of(item)->session.host))
VALUE_GETTER(get_kernel, value_bytes, shares_of(item)->session.kernel,
	     sizeof(shares_of(item)->session.kernel))
VALUE_GETTER(get_code, value_bool, shares_of(item)->has_code)
VALUE_GETTER(get_blame, value_bool, shares_of(item)->has_blame)
VALUE_GETTER(get_reasons, value_bool, shares_of(item)->has_reasons)
VALUE_GETTER(get_lost, value_number, shares_of(item)->lost)
VALUE_GETTER(get_folded, value_number, shares_of(item)->folded_ns)
VALUE_GETTER(get_damage, value_text, result_of(item)->damage[side_of(item)])

FIELD_GETTER(get_source)
{
	struct session_info session = {.wire = shares_of(item)->session};

	value_string(value, session_source(&session));
}

static const struct field side_fields[] = {
	STRING_FIELD("file", get_file, "what it was read from"),
	INTEGER_FIELD("duration_ns", get_duration, "time measured"),
	INTEGER_FIELD("intervals", get_intervals, "intervals recorded"),
	INTEGER_FIELD("batches", get_batches, "batches of them that are tested, of equal weight"),
	STRING_FIELD("source", get_source, "bpf, taskstats or procfs"),
	STRING_FIELD("host", get_host, "name of the machine"),
	STRING_FIELD("kernel", get_kernel, "its kernel"),
	INTEGER_FIELD("cpus", get_cpus, "its CPUs"),
	BOOL_FIELD("blame", get_blame, "it has because of whom threads waited"),
	BOOL_FIELD("reasons", get_reasons, "it has what they waited for"),
	BOOL_FIELD("stacks", get_code, "it has in which code: dwell record --stacks"),
	INTEGER_FIELD("lost", get_lost, "records and transitions that were lost"),
	INTEGER_FIELD("folded_ns", get_folded, "time in shares that were too many to be kept"),
	STRING_FIELD("damage", get_damage, "what of it could not be read; null: nothing"),
};

static const struct schema side_schema = {.name = "recording",
					  .definition = "compared_recording",
					  .help = "one of the two",
					  SCHEMA_FIELDS(side_fields)};

VALUE_GETTER(get_side, value_object, item->row, &numbers[field->argument])

/* A share: the row is a struct share_row, the context the result. */
static const struct share_row *row_of(const struct item *item)
{
	return item->row;
}

static const struct share_key *key_of(const struct item *item)
{
	return row_of(item)->key;
}

static const struct share_comparison *comparison_of(const struct item *item)
{
	return ((const struct thread_comparison *)item->context)->comparison;
}

static const char *const level_keys[SHARE_LEVELS_COUNT] = {
#define X(name, key, help) [SHARE_##name] = key,
	SHARE_LEVELS(X)
#undef X
};

VALUE_GETTER(get_verdict, value_text, share_verdict_keys[row_of(item)->verdict])
VALUE_GETTER(get_level, value_string, level_keys[key_of(item)->level])
VALUE_GETTER(get_program, value_bytes,
	     share_name(comparison_of(item)->sides[0]->keys, key_of(item)->program),
	     SHARE_NAME_BYTES)
VALUE_GETTER(get_state, value_text,
	     key_of(item)->level == SHARE_PROGRAM ? NULL : state_info[key_of(item)->state].key)
VALUE_GETTER(get_is_lost, value_bool, row_of(item)->is_lost)

FIELD_GETTER(get_reason)
{
	if (key_of(item)->level != SHARE_REASON) {
		value_null(value);
		return;
	}
	reason_format(value->text, sizeof(value->text), key_of(item)->reason,
		      compare_threads_native(comparison_of(item)));
	value_text(value, value->text);
}

VALUE_GETTER(get_kind, value_string, culprit_key((enum wire_culprit_kind)key_of(item)->kind))
VALUE_GETTER(get_goes_on, value_bool, key_of(item)->flags &SHARE_GOES_ON)

FIELD_GETTER(get_culprit_program)
{
	value_null(value);
	if (key_of(item)->kind == WIRE_CULPRIT_THREAD)
		value_bytes(value,
			    share_name(comparison_of(item)->sides[0]->keys, key_of(item)->culprit),
			    SHARE_NAME_BYTES);
}

FIELD_GETTER(get_meanwhile)
{
	const struct share_key *key = key_of(item);

	value_text(value, key->flags & SHARE_MEANWHILE ? meanwhile_key(key->meanwhile) : NULL);
}

static const struct field culprit_fields[] = {
	STRING_FIELD("kind", get_kind,
		     "thread, throttle, irq, steal, idle, timer, device, unknown or others",
		     .header = "KIND", .width = 8),
	STRING_FIELD("program", get_culprit_program, "its name, of a thread", .header = "CULPRIT"),
	STRING_FIELD("state", get_meanwhile,
		     "what it did meanwhile: a state, or cpu; null: not known",
		     .header = "MEANWHILE", .width = 9),
	BOOL_FIELD("goes_on", get_goes_on, "the wait had not ended when the recording did"),
};

static const struct schema culprit_schema = {.name = "culprit",
					     .definition = "compared_culprit",
					     .help = "because of whom",
					     SCHEMA_FIELDS(culprit_fields)};

FIELD_GETTER(get_culprit)
{
	value_object(value, item->row, item->context);
	if (key_of(item)->level != SHARE_CULPRIT)
		value_null(value);
}

FIELD_GETTER(get_code_function)
{
	value_null(value);
	if (key_of(item)->level == SHARE_CODE)
		value_text(value, share_function(comparison_of(item)->sides[0]->keys,
						 key_of(item)->culprit));
}

/* A row on one side. */
static const struct field share_fields[] = {
	REAL_MEMBER(struct share_side, share, "share",
		    "of the time measured; of several threads may be above 1"),
	NUMBER_MEMBER(struct share_side, total_ns, "total_ns", "the time itself"),
};

static const struct schema share_schema = {.name = "share",
					   .definition = "compared_share",
					   .help = "in one recording",
					   SCHEMA_FIELDS(share_fields)};

FIELD_GETTER(get_share)
{
	const struct share_side *side = &row_of(item)->sides[field->argument];

	value_object(value, side, NULL);
	if (!side->known)
		value_null(value);
}

#define ROW_REAL(member, key_, header_, help_)                                                     \
	REAL_MEMBER(struct share_row, member, key_, help_, .header = (header_))

static const struct field row_fields[] = {
	STRING_FIELD("verdict", get_verdict,
		     "new, worse, better, gone, more, less, undecided, chance or same; null: not "
		     "measured in both",
		     .header = "VERDICT", .width = 9),
	STRING_FIELD(
		"level", get_level,
		"what it is about: program (all it lost), state, or of that a reason, culprit or "
		"code",
		.header = "LEVEL", .width = 7),
	STRING_FIELD("program", get_program, "name of the process", .header = "PROGRAM"),
	STRING_FIELD("state", get_state, "in which the time went; null: all that are lost",
		     .header = "STATE", .width = 8),
	BOOL_FIELD("is_lost", get_is_lost, "time in it is lost"),
	STRING_FIELD("reason", get_reason, "what for; null: any", .header = "REASON"),
	OBJECT_FIELD("culprit", get_culprit, &culprit_schema, "because of whom; null: any"),
	STRING_FIELD("function", get_code_function, "in which; null: any, or not known",
		     .header = "FUNCTION", .width = 40),
	OBJECT_FIELD("a", get_share, &share_schema, "in A; null: not measured", .argument = 0),
	OBJECT_FIELD("b", get_share, &share_schema, "in B; null: not measured", .argument = 1),
	ROW_REAL(change, "change", "CHANGE", "of the share; null: not measured in both"),
	ROW_REAL(relative, "relative", "RELATIVE", "the same, divided by A's; null from 0"),
	ROW_REAL(p, "p", "P", "Welch's t-test, two-sided; null: not tested"),
	ROW_REAL(adjusted, "p_adjusted", "P_ADJUSTED",
		 "by Holm, for the number of rows tested: programs and states, or the others"),
};

static const struct schema row_schema = {.name = "compared_time",
					 .help = "time of a program in both recordings",
					 SCHEMA_FIELDS(row_fields)};

FIELD_GETTER(get_rows)
{
	value_elements(value, result_of(item)->comparison->count);
}

FIELD_ELEMENT(row_element)
{
	value_object(value, result_of(item)->order[index], item->row);
}

VALUE_GETTER(get_remarks, value_elements, result_of(item)->remark_count)

FIELD_ELEMENT(remark_element)
{
	value_string(value, result_of(item)->remarks[index]);
}

static uint64_t verdicts_of(const struct item *item, enum share_verdict first,
			    enum share_verdict second)
{
	const size_t *verdicts = result_of(item)->comparison->verdicts;

	return verdicts[first] + (second != first ? verdicts[second] : 0);
}

VALUE_GETTER(get_of, value_string, "threads")
VALUE_GETTER(get_worse, value_number, verdicts_of(item, SHARE_IS_WORSE, SHARE_IS_NEW))
VALUE_GETTER(get_better, value_number, verdicts_of(item, SHARE_IS_BETTER, SHARE_IS_GONE))
VALUE_GETTER(get_same, value_number, verdicts_of(item, SHARE_IS_SAME, SHARE_IS_SAME))
VALUE_GETTER(get_chance, value_number, verdicts_of(item, SHARE_IS_CHANCE, SHARE_IS_CHANCE))
VALUE_GETTER(get_undecided, value_number, verdicts_of(item, SHARE_IS_UNDECIDED, SHARE_IS_UNDECIDED))
VALUE_GETTER(get_tested, value_number, result_of(item)->comparison->tested)

static const struct field compare_fields[] = {
	STRING_FIELD("of", get_of, "threads"),
	OBJECT_FIELD("a", get_side, &side_schema, "the first recording", .argument = 0),
	OBJECT_FIELD("b", get_side, &side_schema, "the second", .argument = 1),
	LIST_FIELD("remarks", get_remarks, remark_element, NULL,
		   "what to know of them before one believes the rest"),
	LIST_FIELD("rows", get_rows, row_element, &row_schema, "of both"),
	INTEGER_FIELD("tested", get_tested, "rows that were tested"),
	INTEGER_FIELD("worse", get_worse, "states of programs that are worse or new"),
	INTEGER_FIELD("better", get_better, "that are better or gone"),
	INTEGER_FIELD("same", get_same, "that did not change, or too little to matter"),
	INTEGER_FIELD("chance", get_chance, "that changed, by no more than chance"),
	INTEGER_FIELD("undecided", get_undecided, "that changed, in too few intervals"),
};

const struct schema compare_threads_schema = {.name = "comparison",
					      .definition = "comparison_of_threads",
					      .help = "what two recordings of threads differ in",
					      .version = 1,
					      SCHEMA_FIELDS(compare_fields),
					      .table = "compared_time"};

/* `key` first: order_keys_compare() sorts them. */
struct keyed_row {
	struct order_key key;
	const struct share_row *row;
};

int compare_threads_sort(struct thread_comparison *pair, const char *field, struct error *error)
{
	const struct share_comparison *comparison = pair->comparison;
	struct columns columns = {.items = NULL};
	struct keyed_row *keyed = calloc(comparison->count + 1, sizeof(*keyed));
	int result;

	pair->order = reallocarray(NULL, comparison->count + 1, sizeof(*pair->order));
	if (!keyed || !pair->order || columns_init(&columns, &row_schema, ~0U) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	else
		result = field ? columns_select(&columns, field, error) : 0;
	for (size_t i = 0; result >= 0 && i < comparison->count; i++) {
		const struct item item = {&comparison->rows[i], pair};
		struct value value = {.kind = VALUE_NULL};

		if (field)
			column_get(&columns.items[0], &item, &value);
		if (order_key_set(&keyed[i].key, &value, i) < 0)
			result = error_set(error, ENOMEM, "out of memory");
		keyed[i].row = item.row;
	}
	if (result >= 0)
		qsort(keyed, comparison->count, sizeof(*keyed), order_keys_compare);
	for (size_t i = 0; result >= 0 && i < comparison->count; i++)
		pair->order[i] = keyed[i].row;
	columns_release(&columns);
	for (size_t i = 0; keyed && i < comparison->count; i++)
		order_key_release(&keyed[i].key);
	free(keyed);
	return result;
}
