// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/report_clickhouse.h"

#include <stdlib.h>

#include "base/duration.h"
#include "view/clickhouse.h"

struct report_clickhouse {
	struct counters counters;
	uint64_t every_ns;
	uint64_t written; /* intervals, up to the last rows */
	uint64_t done_ns; /* the end of the last one of them, CLOCK_MONOTONIC */
};

struct report_clickhouse *report_clickhouse_new(enum grouping by, uint64_t every_ns)
{
	struct report_clickhouse *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->every_ns = every_ns;
	if (counters_init(&rows->counters, by, COUNTERS_GROUPS, 0) >= 0)
		return rows;
	report_clickhouse_free(rows);
	return NULL;
}

void report_clickhouse_free(struct report_clickhouse *rows)
{
	if (!rows)
		return;
	counters_release(&rows->counters);
	free(rows);
}

static void write_rows(struct report_clickhouse *rows, const struct session_info *session,
		       struct output *out)
{
	const struct metrics_service service = {.has_store = false};
	const struct metrics_input input = {&rows->counters, session, &service};

	clickhouse_write(out, &input, session->wire.host,
			 rows->counters.end_realtime_ns / NS_PER_MS);
	rows->written = rows->counters.intervals;
	rows->done_ns = rows->counters.end_ns;
}

void report_clickhouse_add(struct report_clickhouse *rows, const struct interval *interval,
			   struct output *out)
{
	uint64_t half_ns = (interval->end_ns - interval->start_ns) / 2;

	counters_add(&rows->counters, interval);
	/* the interval that ends nearest to it */
	if (interval->end_ns + half_ns >= rows->done_ns + rows->every_ns)
		write_rows(rows, interval->session, out);
}

void report_clickhouse_end(struct report_clickhouse *rows, const struct session_info *session,
			   struct output *out)
{
	if (rows->written != rows->counters.intervals)
		write_rows(rows, session, out);
}
