// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom a group of a load waited. docs/formats/json.md is the contract. */
#include "view/load_blame.h"

#include "view/blame.h"
#include "model/reason.h"
#include "view/load_rows.h"

const struct blame *load_group_blame(const struct outcome *outcome, size_t group, size_t *ret_count)
{
	size_t first = 0, count = 0;

	while (first < outcome->blame_count && outcome->blames[first].victim.group < group + 1)
		first++;
	while (first + count < outcome->blame_count &&
	       outcome->blames[first + count].victim.group == group + 1)
		count++;
	*ret_count = count;
	return count ? &outcome->blames[first] : NULL;
}

uint64_t load_blame_whole(const struct outcome *outcome, const struct blame *one)
{
	uint64_t whole_ns = 0;

	for (size_t i = 0; i < outcome->blame_count; i++)
		if (outcome->blames[i].state == one->state &&
		    outcome->blames[i].victim.group == one->victim.group)
			whole_ns += outcome->blames[i].total_ns;
	return whole_ns;
}

void load_blame_culprit(char *into, size_t room, const struct outcome *outcome,
			const struct blame *blame)
{
	const struct run *run = outcome->run;

	if (blame->culprit.group && blame->culprit.group <= run->worker_group_count)
		load_group_name(into, room, run, run->worker_groups[blame->culprit.group - 1]);
	else
		snprintf(into, room, "%s", blame->culprit.comm);
}

static const struct blame *blame_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_culprit_kind, value_string, culprit_key(blame_of(item)->kind))

FIELD_GETTER(get_culprit_group)
{
	uint32_t group = blame_of(item)->culprit.group;

	value_known(value, group - 1, group > 0);
}

FIELD_GETTER(get_culprit_name)
{
	load_blame_culprit(value->text, sizeof(value->text), item->context, blame_of(item));
	value_text(value, value->text);
}

static const struct field culprit_fields[] = {
	STRING_FIELD("kind", get_culprit_kind, "as that of `blame`"),
	INTEGER_FIELD("group", get_culprit_group,
		      "of a worker: its group's place in `groups`, from 0 on"),
	STRING_FIELD("name", get_culprit_name, "of its group, or of its process"),
};

static const struct schema culprit_schema = {.name = "culprit",
					     .definition = "group_culprit",
					     .help = "because of whom",
					     SCHEMA_FIELDS(culprit_fields)};

FIELD_GETTER(get_share)
{
	uint64_t whole_ns = load_blame_whole(item->context, blame_of(item));

	value->kind = VALUE_SHARE;
	value->real = (double)blame_of(item)->total_ns / (double)whole_ns;
}

FIELD_GETTER(get_reason)
{
	reason_format(value->text, sizeof(value->text), blame_of(item)->meanwhile, true);
	if (blame_of(item)->has_meanwhile)
		value_string(value, value->text);
	else
		value_null(value);
}

static const struct field blame_fields[] = {
	STRING_FIELD("state", get_blame_state, "in which its workers waited"),
	OBJECT_FIELD("culprit", get_same_row, &culprit_schema, "because of whom"),
	STRING_FIELD("culprit_state", get_blame_culprit_state,
		     "what the culprit did meanwhile: a state, or cpu; null: not known"),
	STRING_FIELD("culprit_reason", get_reason, "and in what, as `reason`"),
	NUMBER_MEMBER(struct blame, count, "count", "waits that have ended"),
	NUMBER_MEMBER(struct blame, total_ns, "total_ns", "their time"),
	SHARE_FIELD("share", get_share, "of the group's time in the state"),
};

const struct schema load_blame_schema = {
	.name = "group_blame",
	.help = "what a group lost in one state because of one culprit",
	SCHEMA_FIELDS(blame_fields)};
