/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics as Prometheus takes them: remote write 1.0, a protocol buffer that is not packed yet.
 * https://prometheus.io/docs/specs/prw/remote_write_spec/ */
#ifndef DWELL_VIEW_REMOTE_WRITE_H
#define DWELL_VIEW_REMOTE_WRITE_H

#include "base/protobuf.h"
#include "view/metrics.h"

/* Each series has `labels`, too: METRIC_EXTRA at most. */
#define METRIC_EXTRA 4

void remote_write_put(struct protobuf *out, const struct metrics_input *input,
		      const struct metric_label *labels, size_t label_count, uint64_t time_ms);

#endif
