/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sched_ext says of itself in sysfs: Documentation/scheduler/sched-ext.rst, and for the events
 * struct scx_event_stats in kernel/sched/ext.c.
 */
#ifndef DWELL_SCHEDULER_COUNTERS_H
#define DWELL_SCHEDULER_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scheduler.h"

#define COUNTERS_DIRECTORY "/sys/kernel/sched_ext"
#define EVENT_NAME_BYTES   64

/* Each kernel has some of the files. */
struct counter {
	bool known;
	uint64_t value;
};

/* At an instant. */
struct scheduler_counters {
	char state[32];			/* "enabled"; "": not known */
	char ops[SCHEDULER_NAME_BYTES]; /* "": no scheduler is in use */
	struct counter switch_all;	/* 1: it has all threads of the normal policies */
	struct counter enabled;		/* schedulers that were, since boot */
	struct counter rejected;	/* threads that a scheduler refused, since boot */
};

/* Of `directory`, COUNTERS_DIRECTORY. */
void scheduler_counters_read(struct scheduler_counters *counters, const char *directory);

struct scheduler_event {
	char name[EVENT_NAME_BYTES]; /* "SCX_EV_SELECT_CPU_FALLBACK" */
	uint64_t earlier;	     /* of schedulers that are gone, while we looked */
	uint64_t before, last;	     /* of this one, when we began and by now */
};

/* Counts of each scheduler begin at 0 when it is enabled. All zeros is empty. */
struct scheduler_events {
	struct scheduler_event *items;
	size_t count, room;
};

/* Lines "NAME NUMBER"; others, and those without memory, are left out. */
void scheduler_events_begin(struct scheduler_events *events, const char *text);
/* Later; `another`: they are of a scheduler that was enabled since the last time. */
void scheduler_events_take(struct scheduler_events *events, const char *text, bool another);
void scheduler_events_release(struct scheduler_events *events);

/* How many there were since scheduler_events_begin(). */
static inline uint64_t scheduler_event_sum(const struct scheduler_event *event)
{
	return event->earlier + event->last - event->before;
}

#endif
