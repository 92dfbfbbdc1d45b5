/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workers were sampled to run in the span that each of them is in. */
#ifndef DWELL_MODEL_STALL_SAMPLES_H
#define DWELL_MODEL_STALL_SAMPLES_H

#include "bpf/wire.h"
#include "model/stacks.h"

struct stall_samples {
	struct stall_sampler *items; /* one per thread */
	size_t count, room;
};

/* -ENOMEM */
int stall_samples_add(struct stall_samples *samples, const struct wire_sample *record);

/*
 * The stack that was sampled for the longest time in the span of a thread that began at `span_ns`,
 * with all others in the same function; 0: none was.
 */
uint32_t stall_samples_stack(const struct stall_samples *samples, const struct stacks *stacks,
			     uint32_t tid, uint64_t span_ns);

/* Time on a CPU that the samples of that span stand for. */
uint64_t stall_samples_ns(const struct stall_samples *samples, uint32_t tid, uint64_t span_ns);

void stall_samples_release(struct stall_samples *samples);

#endif
