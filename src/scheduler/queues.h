/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many threads wait in each dispatch queue of sched_ext (DSQ), looked at now and then by a walk
 * over all threads (bpf/queues.bpf.c).
 */
#ifndef DWELL_SCHEDULER_QUEUES_H
#define DWELL_SCHEDULER_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"
#include "bpf/queues.h"

struct queues_bpf;

struct scheduler_queue {
	uint64_t id;	  /* as in a struct queue_record */
	unsigned int cpu; /* of a local one */
	uint32_t now;	  /* waiting at the current look */
	uint32_t *depths; /* at the looks at which any waited */
	size_t count, room;
};

struct scheduler_queues {
	struct queues_bpf *bpf;	       /* NULL: not loaded */
	const char *unknown;	       /* why nothing is known; NULL: it is */
	uint64_t looks;		       /* while a scheduler was in use */
	struct scheduler_queue *items; /* in the order in which a thread was first seen in them */
	size_t count, room;
	uint64_t first_ns, first_jiffies; /* of the first thread: how long a jiffy is */
};

struct queue_depths {
	uint32_t p50, p99, max; /* nearest rank, over all looks */
};

void scheduler_queues_open(struct scheduler_queues *queues);
void scheduler_queues_look(struct scheduler_queues *queues);

/* What was seen stays, sorted for scheduler_queue_depths(). */
void scheduler_queues_close(struct scheduler_queues *queues);
void scheduler_queues_release(struct scheduler_queues *queues);

/* Adds what one walk has found. */
void scheduler_queues_take(struct scheduler_queues *queues, const struct queue_record *records,
			   size_t count);

/* After scheduler_queues_close(). */
struct queue_depths scheduler_queue_depths(const struct scheduler_queues *queues,
					   const struct scheduler_queue *queue);

/* "local of CPU 1", "global", "of the scheduler's own", or "user 0x3". */
void scheduler_queue_name(char *into, size_t room, uint64_t id, unsigned int cpu);

/* Each thread that waits now: in which queue, and how long it has not run. A line for each. */
void scheduler_queues_write(struct output *out, struct scheduler_queues *queues);

#endif
