/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stalls of workers: why each one was, which function did it, and what did most of it, in all the
 * time or in the last of it. Pure, as interval.h: times are those of the records. Memory depends on
 * how many functions and stacks there are, not on how many stalls.
 */
#ifndef DWELL_MODEL_STALLS_H
#define DWELL_MODEL_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/wire.h"
#include "model/hotspots.h"
#include "model/interval.h"
#include "model/stacks.h"
#include "model/tasks.h"

/* What a stall spent in one state, and where. */
struct stall_part {
	uint64_t ns;
	enum stall_cause cause;
	uint32_t function, stack;   /* ids that exist, or 0 */
	struct wire_wait_site site; /* of its longest wait for this cause; state 0: none is known */
	bool in_place;
	struct wire_peer waker;	  /* ended that wait; tid 0: not known */
	uint32_t waker_function;  /* what it did then */
	struct wire_peer culprit; /* of the record; none where the machine is to blame */
	struct wire_peer limit;	  /* its CPU limit was reached: wire_peer_cgroup(); no comm: none */
};

/* At most: each but the main one is an eighth of the stall or more (wire_is_part()). */
#define STALL_PARTS 8

struct stall {
	const struct wire_stall *record;
	uint64_t own_ns; /* without the spans inside */
	/* the first is what it is called by; their times add up to own_ns */
	struct stall_part parts[STALL_PARTS];
	size_t part_count;
};

/* Of the time that is looked at. */
struct stall_worker {
	struct wire_worker last;
	uint64_t spans, stalls, longest_ns;
	uint64_t states_ns[STATES]; /* since it was known to be a worker */
	bool ended;
};

/* What keeps a worker that has not come back. */
struct stall_open {
	uint64_t duration_ns; /* so far */
	enum stall_cause cause;
	struct wire_wait_site site;
	uint32_t function, stack, type; /* as in struct stall */
	bool in_place;
};

struct stalls;

/*
 * Looks at the last `window_ns` only, to a twentieth; 0: at all there is. `marks` are used on, as
 * runtime_stack_marks() has them. NULL: out of memory.
 */
struct stalls *stalls_new(uint64_t window_ns, const struct stack_marks *marks);
void stalls_free(struct stalls *stalls);

/*
 * Takes a record if it is about stalls. 1: it was a stall, and *ret_stall is valid until the next
 * call; 0; -ENOMEM; -EBADMSG for a record that cannot be.
 */
int stalls_feed(struct stalls *stalls, const struct wire_header *record,
		struct stall *ret_stall) must_check;

/* After its records: what the workers did. */
void stalls_add_interval(struct stalls *stalls, const struct interval *interval);

/* Whether the session the records are from measures a state (enum wire_state). */
bool stalls_measures(const struct stalls *stalls, __u8 wire_state);

/* The path of a cgroup; NULL: not known. */
const char *stalls_cgroup(const struct stalls *stalls, uint64_t id);

/* NULL: no such frame or stack. */
const struct frame *stalls_frame(const struct stalls *stalls, uint32_t id);
const struct stack *stalls_stack(const struct stalls *stalls, uint32_t id);
/* stacks_lacks_names() */
bool stalls_lack_names(const struct stalls *stalls, uint32_t stack);

/* By time, the largest first; valid until the next call. 0 or -ENOMEM: too few are no result. */
int stalls_hotspots(struct stalls *stalls, enum hotspot_grouping by,
		    const struct hotspot **ret_hotspots, size_t *ret_count) must_check;

/* Whether a poll or turn has begun at all: without one there is nothing that could be too long. */
bool stalls_seen(struct stalls *stalls);

/*
 * By tid; valid until the next call. Threads of the blocking pool are among them (last.kind). Where
 * there are too many, those that have ended make room.
 */
const struct stall_worker *stalls_workers(struct stalls *stalls, size_t *ret_count);

/* A thread that did most of the process's work, and whose work no span shows. */
struct stalls_unjudged {
	uint32_t tid;
	char comm[17];
	uint64_t cpu_ns, process_ns; /* since the beginning; of all threads */
};

/*
 * Whether there is one beside workers that did little, or none: a loop may have another thread wait
 * for its events, as Tcl's has. Not one of the blocking pool, or that compiles or collects for a
 * runtime.
 */
bool stalls_unjudged(const struct stalls *stalls, struct stalls_unjudged *ret_unjudged);

/* As tasks.h has them, of the time that is looked at. */
const struct task *stalls_tasks(struct stalls *stalls, size_t *ret_count);
/* False where no polls are probed, and in recordings from before they were counted. */
bool stalls_has_tasks(const struct stalls *stalls);
bool stalls_tasks_are_sampled(const struct stalls *stalls);

/* Whether the worker was, when last looked at, in a span that is longer than the threshold. */
bool stalls_open(const struct stalls *stalls, const struct stall_worker *worker,
		 struct stall_open *ret_open);

/* The latest; all zeros: none yet. */
const struct wire_runtime *stalls_runtime(const struct stalls *stalls);

struct stall_counts {
	uint64_t measured_ns;			     /* sum of the intervals */
	uint64_t end_ns;			     /* of the last one, CLOCK_MONOTONIC */
	uint64_t machine_stolen_ns, machine_busy_ns; /* as in struct interval */
	uint64_t stalls, total_ns, max_ns;
	uint64_t blamed_ns, max_blamed_ns; /* of those that are neither of the next two */
	uint64_t in_place;		   /* under block_in_place() */
	uint64_t machine;		   /* stall_cause_is_machine() */
	uint64_t unexplained;	/* of which no stack is known, of those that are not `machine` */
	uint64_t pool_stalls;	/* of closures on the blocking pool, and workers' lives: left out */
	uint64_t hotspots_lost; /* stalls of functions that found no room in the table */
	uint64_t workers_lost;	/* that found no room, in the interval that had most of them */
};

static inline uint64_t stall_counts_lost(const struct stall_counts *counts)
{
	return counts->hotspots_lost + counts->workers_lost;
}

/* How many stalls the program is to blame for. */
static inline uint64_t stall_counts_blamed(const struct stall_counts *counts)
{
	return counts->stalls - counts->in_place - counts->machine;
}

/* Of the time that is looked at, and of all there was. */
struct stall_counts stalls_counts(const struct stalls *stalls);
struct stall_counts stalls_counts_of_all(const struct stalls *stalls);

#endif
