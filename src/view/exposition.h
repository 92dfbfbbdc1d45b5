/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters as monitoring systems read them: Prometheus' text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and OpenMetrics 1.0
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/).
 */
#ifndef DWELL_VIEW_EXPOSITION_H
#define DWELL_VIEW_EXPOSITION_H

#include <stdbool.h>

#include "base/output.h"
#include "model/counters.h"
#include "model/hotspots.h"

/* Stalls of the workers of one program. */
struct exposition_stalls {
	const char *process;
	bool is_up;
	const uint64_t *by_cause;  /* [STALL_CAUSES_COUNT] */
	const uint64_t *by_length; /* [STALL_BUCKETS] */
	uint64_t total_ns, last_ns;
	const char *function; /* of the last one; "": not known */
};

/* Of the service itself, besides what it counts. */
struct exposition_service {
	bool has_store;
	uint64_t store_bytes, store_files, store_failures;
	struct exposition_stalls stalls[4];
	size_t stall_count;
	bool has_flight; /* a flight recorder */
	const char *(*trigger)(const void *data, size_t index, uint64_t *ret_fired); /* its words */
	const void *trigger_data;
	size_t trigger_count;
	uint64_t flight_written, flight_suppressed;
};

enum exposition_format {
	EXPOSITION_TEXT,
	EXPOSITION_OPENMETRICS,
};

/* As Content-Type. */
const char *exposition_type(enum exposition_format format);

/* Label values may be any bytes: what is no valid UTF-8 becomes U+FFFD. */
void exposition_write(struct output *out, const struct counters *counters,
		      const struct session_info *session, const struct exposition_service *service,
		      enum exposition_format format);

#endif
