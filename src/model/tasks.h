/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each type of task was polled, in all the time or in the last of it: the sums of WIRE_POLLS.
 * Where polls were probed for a part of the time only, what was counted then stands for all of it.
 * Pure. Bounded: who counts has one sum for what is beyond some thousand types, and more than that,
 * as in a damaged recording, is passed over.
 */
#ifndef DWELL_MODEL_TASKS_H
#define DWELL_MODEL_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "bpf/wire.h"

struct task {
	uint32_t type; /* frame: its name, or the function that polls it; 0: the rest of them */
	uint64_t polls, busy_ns; /* estimates, where tasks_are_sampled() */
	/* of what was seen: then there may have been more, and longer ones */
	uint64_t longest_ns, stalls;
};

/* All zeros but the number of slices is empty. */
struct tasks {
	size_t slice_count; /* parts of the time; 0: one */
	bool is_recorded;   /* there was a record of them at all, even of no poll */
	/* since the last WIRE_RUNTIME */
	uint64_t observed_ns, probed_ns;
	bool is_sampled; /* polls were probed for a part of it only */
	struct tasks_time {
		uint64_t observed_ns, probed_ns; /* while they were sampled */
	} * times;				 /* by slice */
	struct identities keys;			 /* of names */
	struct wire_polls *lasts;		 /* by number in keys, as the next two */
	struct tasks_slice {
		/* with all probed; while they were sampled */
		uint64_t polls[2], busy_ns[2];
		uint64_t longest_ns, stalls;
	} * slices;	    /* slice_count for each */
	struct task *items; /* as reported */
	size_t last_room, slice_room, item_room;
};

/* A slice begins: what was in its place is forgotten. */
void tasks_begin_slice(struct tasks *tasks, size_t slice);

/* Both add to a slice. The key is the name's hash; 0: the rest. 0 or -ENOMEM. */
int tasks_add_runtime(struct tasks *tasks, size_t slice,
		      const struct wire_runtime *record) must_check;
int tasks_add(struct tasks *tasks, size_t slice, const struct wire_polls *record,
	      uint64_t key) must_check;

/*
 * Those that were polled in the time, the busiest first, the rest behind them; valid until the next
 * call.
 */
const struct task *tasks_sorted(struct tasks *tasks, size_t *ret_count);

/* Whether polls were probed for a part of the time only. */
bool tasks_are_sampled(const struct tasks *tasks);

void tasks_release(struct tasks *tasks);

#endif
