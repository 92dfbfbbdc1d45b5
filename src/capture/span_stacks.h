/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw stacks of a process unwound and named, and told as records: each frame and stack once. */
#ifndef DWELL_CAPTURE_SPAN_STACKS_H
#define DWELL_CAPTURE_SPAN_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/identities.h"
#include "bpf/config.h"
#include "capture/sink.h"
#include "capture/spans.h"
#include "symbol/symbolizer.h"

/* All zeros is empty. */
struct span_stacks {
	const struct span_options *options;
	struct symbolizer *symbolizer;
	uint64_t attached_ns, attaching_ns; /* when last, and how long it took */
	bool ended;			    /* the process */
	struct identities frames;	    /* (0, address of the symbol_frame, or of a name) */
	struct identities stacks;	    /* (count, hash of the frames' ids) */
	uint64_t complete, truncated, failed;
	uint64_t lost; /* stacks that found no room */
};

/* What the functions of a stack tell of its thread: span_marks that were seen. */
struct span_signs {
	unsigned int polls, harnesses; /* of a poll at least one is there */
	bool worker, single, pool, root;
	bool complete; /* the stack: what is not among the signs is not there */
};

/* 0 or a negative errno: the process is gone, or not ours to read. Release in either case. */
int span_stacks_init(struct span_stacks *stacks, const struct span_options *options) must_check;
void span_stacks_release(struct span_stacks *stacks);

/* *ret_id 0: there is no room for another. `signs` may be NULL. 0, -ENOMEM, or what the sink says.
 */
int span_stacks_take(struct span_stacks *stacks, const struct span_stack *raw, uint32_t *ret_id,
		     struct span_signs *signs, struct record_sink sink) must_check;

/* A name as a frame, as that of a task's type. The same pointer is the same frame. */
int span_stacks_name(struct span_stacks *stacks, const char *name, uint64_t time_ns,
		     uint32_t *ret_id, struct record_sink sink) must_check;

#endif
