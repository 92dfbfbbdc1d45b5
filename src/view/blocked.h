/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What blocked the workers, as JSON lines and as a page of text. */
#ifndef DWELL_VIEW_BLOCKED_H
#define DWELL_VIEW_BLOCKED_H

#include "base/output.h"
#include "emit/emit.h"
#include "model/stalls.h"

struct starvation; /* model/starvation.h */

struct blocked_summary {
	struct stalls *stalls;
	const struct starvation *starvation; /* NULL: not measured, as without blame */
	const struct session_info *session;  /* NULL: nothing was measured */
	size_t top;			     /* hotspots to show, 0 = all */
};

/* A line for a stall. */
void blocked_json_stall(struct output *out, const struct stalls *stalls, const struct stall *stall);

/*
 * A worker that has not come back for BLOCKED_STUCK_NS, without having said that it would block.
 * Which these are: a number, another one when one becomes stuck or comes back; 0: none.
 */
bool blocked_is_stuck(const struct stalls *stalls, const struct stall_worker *worker);
uint64_t blocked_stuck_now(struct stalls *stalls);

/* A line for those who are stuck now. */
void blocked_json_stuck(struct output *out, struct stalls *stalls);

extern const struct schema stall_schema, stuck_now_schema, blocked_schema, hotspot_schema,
	task_schema;

/* What the rows of a summary are: its schema by each, which differ in nothing else. */
enum blocked_rows {
	BLOCKED_BY_HOTSPOT,
	BLOCKED_BY_TASK,
	BLOCKED_ROWS_COUNT,
};
extern const struct schema *const blocked_row_schemas[BLOCKED_ROWS_COUNT];

/* The summary, as emit_result(): of `blocked_schema`. 0 or -ENOMEM. */
int blocked_emit(const struct emit *emit, const struct blocked_summary *summary) must_check;

/* Because of whom the workers waited for a CPU; absent where that is not measured. */
extern const struct schema starved_schema;
void value_starved(struct value *value, const struct blocked_summary *summary);

bool blocked_has_starved(const struct blocked_summary *summary);

/* A line: "The workers waited 3.21s for a CPU, starved by: cc1 (9 processes) 60 %, others 40 %". */
void blocked_write_starved(struct output *out, const struct blocked_summary *summary);

/* The table of types of tasks, where polls are probed. */
void blocked_write_tasks(struct output *out, const struct blocked_summary *summary);

/* The page of text. */
void blocked_table(struct output *out, const struct blocked_summary *summary);

#endif
