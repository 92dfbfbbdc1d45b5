/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters as monitoring systems read them: Prometheus' text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and OpenMetrics 1.0
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/).
 */
#ifndef DWELL_VIEW_EXPOSITION_H
#define DWELL_VIEW_EXPOSITION_H

#include "base/output.h"
#include "view/metrics.h"

enum exposition_format {
	EXPOSITION_TEXT,
	EXPOSITION_OPENMETRICS,
};

/* As Content-Type. */
const char *exposition_type(enum exposition_format format);

/* What each sample says besides, where no one scrapes and adds it. */
struct exposition_extra {
	const struct metric_label *labels;
	size_t label_count;
	uint64_t time_ms; /* since 1970 */
};

/*
 * Label values may be any bytes: what could disturb a terminal becomes a "?". `extra`: NULL, or in
 * EXPOSITION_TEXT.
 */
void exposition_write(struct output *out, const struct metrics_input *input,
		      enum exposition_format format, const struct exposition_extra *extra);

#endif
