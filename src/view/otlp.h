/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics as OpenTelemetry has them, a protocol buffer: https://opentelemetry.io/docs/specs/otlp/
 */
#ifndef DWELL_VIEW_OTLP_H
#define DWELL_VIEW_OTLP_H

#include "base/protobuf.h"
#include "view/metrics.h"

/* Of one machine: `attributes` of the resource. */
void otlp_put(struct protobuf *out, const struct metrics_input *input,
	      const struct metric_label *attributes, size_t attribute_count);

/*
 * The answer to a request that was taken: how many of its points were not, and why, in `words`. 0:
 * none, or it is no such answer.
 */
uint64_t otlp_rejected(const uint8_t *answer, size_t length, char *words, size_t room);

#endif
