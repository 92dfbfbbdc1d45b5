/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell serve` answers besides metrics: how it is, and what happened in a period. */
#ifndef DWELL_VIEW_SERVE_H
#define DWELL_VIEW_SERVE_H

#include "emit/schema.h"
#include "model/counters.h"
#include "model/findings.h"

struct serve_status {
	const struct counters *counters;
	const struct session_info *session;
	uint64_t interval_ns;
	uint64_t lengths_ns[4];		 /* of the periods that are kept; 0: no more */
	uint64_t kept_ns;		 /* of the longest ones, how far back */
	const struct findings *findings; /* of the last interval; NULL: not looked for */
	size_t stall_programs;		 /* whose workers are watched for stalls */
};

extern const struct schema serve_status_schema; /* of struct serve_status */

/* From a mark of the counters to their end. */
struct serve_period {
	const struct counters *counters;
	size_t mark;
	uint64_t start_realtime_ns, duration_ns;
};

extern const struct schema serve_period_schema; /* of struct serve_period */

#endif
