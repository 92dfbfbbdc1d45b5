/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says of forks, execs, mappings of code and exits of all processes, by perf events
 * (perf_event_open(2)): read into a history of their memory maps. Needs CAP_PERFMON.
 */
#ifndef DWELL_SYMBOL_MAP_EVENTS_H
#define DWELL_SYMBOL_MAP_EVENTS_H

#include "symbol/map_history.h"

struct map_events;

/*
 * Events of different CPUs are taken in the order of their times. What is younger than this stays:
 * it may still have an older one behind it, as an event gets its time before its place.
 */
#define MAP_EVENTS_SETTLED_NS 1000000

/* NULL: the kernel refuses it, or there is no memory. */
struct map_events *map_events_open(void);
void map_events_close(struct map_events *events); /* may be NULL */

/* Readable when much has come, and map_events_read() should be called. */
int map_events_descriptor(const struct map_events *events);

/* Takes what has come. */
void map_events_read(struct map_events *events, struct map_history *history);

#endif
