// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers that have not come back: a line when that changes. docs/formats/json.md is the contract.
 */
#include "view/blamed.h"
#include "view/blocked.h"
#include "view/blocked_words.h"

bool blocked_is_stuck(const struct stalls *stalls, const struct stall_worker *worker)
{
	struct stall_open open;

	return stalls_open(stalls, worker, &open) && open.duration_ns >= BLOCKED_STUCK_NS &&
	       !open.in_place;
}

uint64_t blocked_stuck_now(struct stalls *stalls)
{
	uint64_t number = 0;
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	for (size_t i = 0; i < count; i++)
		if (blocked_is_stuck(stalls, &workers[i]))
			number += (workers[i].last.open_ns + workers[i].last.tid) *
					  0x9e3779b97f4a7c15ULL |
				  1;
	return number;
}

struct stuck_now {
	const struct stalls *stalls;
	const struct stall_worker *workers; /* all of them */
	size_t count;
	uint64_t end_ns;
};

static const struct stuck_now *now_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_end, value_number, now_of(item)->end_ns)
VALUE_GETTER(get_workers, value_elements, now_of(item)->count)

FIELD_ELEMENT(worker_element)
{
	const struct stuck_now *now = now_of(item);

	value_object(value, &now->workers[index], now->stalls);
	if (!blocked_is_stuck(now->stalls, &now->workers[index]))
		value_absent(value);
}

static const struct field stuck_now_fields[] = {
	INTEGER_FIELD("end_ns", get_end, "CLOCK_MONOTONIC: when that was so"),
	LIST_FIELD("workers", get_workers, worker_element, &blocked_worker_schema,
		   "that have not come back for a second"),
};

const struct schema stuck_now_schema = {
	.name = "stuck_now",
	.help = "which workers are stuck: a line when another one is, or one has come back",
	.version = 1,
	SCHEMA_FIELDS(stuck_now_fields)};

void blocked_json_stuck(struct output *out, struct stalls *stalls)
{
	struct stuck_now now = {.stalls = stalls, .end_ns = stalls_counts_of_all(stalls).end_ns};
	struct item item = {&now, NULL};

	now.workers = stalls_workers(stalls, &now.count);
	emit_json_line(out, &stuck_now_schema, &item);
}
