/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics as rows of deploy/clickhouse/dwell.sql: an object of JSON in each line (JSONEachRow). */
#ifndef DWELL_VIEW_CLICKHOUSE_H
#define DWELL_VIEW_CLICKHOUSE_H

#include "base/output.h"
#include "view/metrics.h"

void clickhouse_write(struct output *out, const struct metrics_input *input, const char *host,
		      uint64_t time_ms);

#endif
