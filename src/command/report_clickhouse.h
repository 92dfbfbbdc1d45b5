/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `dwell report --format clickhouse`: a recording as rows of deploy/clickhouse/dwell.sql, which
 * `dwell serve --push clickhouse=URL` would have sent of the same intervals.
 */
#ifndef DWELL_COMMAND_REPORT_CLICKHOUSE_H
#define DWELL_COMMAND_REPORT_CLICKHOUSE_H

#include "base/output.h"
#include "model/counters.h"

struct report_clickhouse;

/* `every_ns`: between rows, at the end of an interval; 0: each. NULL: no memory. */
struct report_clickhouse *report_clickhouse_new(enum grouping by, uint64_t every_ns);
void report_clickhouse_free(struct report_clickhouse *rows);

/* Takes an interval by thread; writes rows where it is time. */
void report_clickhouse_add(struct report_clickhouse *rows, const struct interval *interval,
			   struct output *out);

/* Rows of the last interval, unless it has some. */
void report_clickhouse_end(struct report_clickhouse *rows, const struct session_info *session,
			   struct output *out);

#endif
