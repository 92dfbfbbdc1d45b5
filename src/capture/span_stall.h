/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A span that has ended and what was seen of it, as the record of a stall. */
#ifndef DWELL_CAPTURE_SPAN_STALL_H
#define DWELL_CAPTURE_SPAN_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "bpf/wire.h"
#include "capture/span_evidence.h"

/*
 * Of a turn that may have been several jobs: a wait for the threshold is certain to be of one, but
 * not what adds up to that. False: there is none.
 */
bool span_stall_keep_waits(struct wire_stall *stall, uint64_t threshold_ns);

/* Whether a span was found when it had begun already. */
bool span_is_seeded(uint64_t cookie);

/* Whether the span was found while the probes were off. */
bool span_end_is_unprobed(const struct span_end *end);

/*
 * All but the type of the task and what is known of its worker. False: it is no stall, because it
 * was in no poll, or is shorter than threshold_ns without the waits that are no part of it.
 */
bool span_stall_fill(struct wire_stall *stall, const struct span_end *end,
		     const struct span_evidence *evidence, uint64_t threshold_ns) must_check;

#endif
