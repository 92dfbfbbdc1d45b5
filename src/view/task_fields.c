// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell blocked` says of types of tasks. docs/formats/json.md is the contract. */
#include "view/blocked.h"
#include "view/view.h"

static const struct task *task_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_task)
{
	const struct frame *type = stalls_frame(item->context, task_of(item)->type);

	value_text(value, type ? type->function : NULL);
}

/* Rows are there only of what was polled. */
VALUE_GETTER(get_mean, value_number, task_of(item)->busy_ns / task_of(item)->polls)
VALUE_GETTER(get_is_estimate, value_bool, stalls_tasks_are_sampled(item->context))

static const struct field task_fields[] = {
	STRING_FIELD("task", get_task,
		     "name of the type, or the function that polls it; null: all other types",
		     .header = "TASK", .width = 40),
	NUMBER_MEMBER(struct task, polls, "polls", "that have ended", .header = "POLLS"),
	NUMBER_MEMBER(struct task, busy_ns, "busy_ns", "their time", .header = "BUSY"),
	INTEGER_FIELD("mean_ns", get_mean, "of a poll", .header = "MEAN"),
	NUMBER_MEMBER(struct task, longest_ns, "max_ns", "the longest poll", .header = "MAX"),
	NUMBER_MEMBER(struct task, stalls, "stalls", "polls above the threshold",
		      .header = "STALLS"),
	BOOL_FIELD("estimate", get_is_estimate,
		   "polls were probed for a part of the time: there may be more stalls, and longer "
		   "polls"),
};

const struct schema task_schema = {
	.name = "task", .help = "tasks of one type", SCHEMA_FIELDS(task_fields)};
