/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probes of polls have counted, as records by type of task. */
#ifndef DWELL_CAPTURE_SPAN_TASKS_H
#define DWELL_CAPTURE_SPAN_TASKS_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "capture/sink.h"
#include "capture/span_stacks.h"
#include "capture/spans.h"

/* All zeros is empty. */
struct span_tasks {
	uint32_t *types;	/* by number of the probe: frames; 0: not asked for yet */
	struct identities rows; /* by the frame; that of 0 is the first */
	struct wire_polls *sums;
	uint64_t *sent_polls; /* as the sums */
	size_t sum_room, sent_room;
	uint32_t epoch;
};

/*
 * At a snapshot: WIRE_POLLS for each type that was polled since the one before, and for the rest.
 * Types of one name are one. 0, -ENOMEM, or what the sink says.
 */
int span_tasks_tell(struct span_tasks *tasks, struct dwell_bpf *bpf,
		    const struct span_options *options, struct span_stacks *stacks,
		    uint64_t time_ns, struct record_sink sink) must_check;

void span_tasks_release(struct span_tasks *tasks);

#endif
