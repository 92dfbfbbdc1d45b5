/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the time of a stall divides by state, and what was the cause of each part. */
#ifndef DWELL_MODEL_STALL_PARTS_H
#define DWELL_MODEL_STALL_PARTS_H

#include "model/stacks.h"
#include "model/stalls.h"

/* Of a time in `state` (enum wire_state); `site`: what its longest wait was for. */
enum stall_cause stall_cause_of(__u8 state, struct wire_wait_site site);

/*
 * Fills the parts, without their functions, from `record` and `own_ns`. `sampled`: the stack that
 * was sampled most while it ran; 0: none was.
 */
void stall_divide(struct stall *stall, const struct stacks *stacks, uint64_t threshold_ns,
		  uint32_t sampled);

/* Their functions, and who is to blame. */
void stall_name_parts(struct stall *stall, const struct stacks *stacks,
		      const struct stack_marks *marks);

#endif
