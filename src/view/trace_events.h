/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace events, as Perfetto, speedscope and chrome://tracing read them ("Trace Event Format"): one
 * JSON object, whose times are in microseconds.
 */
#ifndef DWELL_VIEW_TRACE_EVENTS_H
#define DWELL_VIEW_TRACE_EVENTS_H

#include "base/json.h"

struct trace_events {
	struct output *out;
	bool some; /* an event has been written */
};

void trace_events_begin(struct trace_events *events);
void trace_events_end(struct trace_events *events);

/* Before each event. */
void trace_events_separate(struct trace_events *events);

/* "name", "ph", "pid" and "tid" of an event that has begun. */
void trace_event_head(struct json *json, const char *name, const char *phase, uint32_t pid,
		      uint32_t tid);

/* A time or a duration. */
void trace_event_time(struct json *json, const char *key, uint64_t ns);

/* A whole one that names something: "process_name" or "thread_name". */
void trace_events_name(struct trace_events *events, const char *what, uint32_t pid, uint32_t tid,
		       const char *name);

#endif
