/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens inside sched_ext while a load runs, under whichever schedulers come and go. */
#ifndef DWELL_SCHEDULER_INSIDE_H
#define DWELL_SCHEDULER_INSIDE_H

#include "scheduler/counters.h"
#include "scheduler/programs.h"
#include "scheduler/queues.h"

struct scheduler_inside {
	bool exists;	/* this kernel has sched_ext */
	bool over;	/* it was looked at for the last time */
	bool in_use;	/* a scheduler was, at some time */
	uint64_t count; /* of schedulers that were enabled since boot, when we last looked */
	struct scheduler_counters before, after;
	struct scheduler_events events;
	bool has_events; /* the kernel counts them */
	struct scheduler_programs programs;
	struct scheduler_queues queues;
};

/*
 * From here on; `timed`: the kernel is to time the schedulers' programs, which costs each call.
 * `expected`: there will be a scheduler, if there is none yet. Queues are looked at only then.
 */
void scheduler_inside_begin(struct scheduler_inside *inside, bool timed, bool expected);

/* To be called some ten times a second: notices new schedulers. */
void scheduler_inside_look(struct scheduler_inside *inside);

/* Up to here; what was seen stays. Once more does nothing. */
void scheduler_inside_end(struct scheduler_inside *inside);
void scheduler_inside_release(struct scheduler_inside *inside);

#endif
