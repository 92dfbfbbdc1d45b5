// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/trace_events.h"

#include "base/duration.h"

void trace_events_begin(struct trace_events *events)
{
	output_string(events->out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
}

void trace_events_end(struct trace_events *events)
{
	output_string(events->out, "\n]}\n");
}

void trace_events_separate(struct trace_events *events)
{
	output_string(events->out, events->some ? ",\n" : "\n");
	events->some = true;
}

void trace_event_head(struct json *json, const char *name, const char *phase, uint32_t pid,
		      uint32_t tid)
{
	json_add_string(json, "name", name);
	json_add_string(json, "ph", phase);
	json_add_u64(json, "pid", pid);
	json_add_u64(json, "tid", tid);
}

void trace_event_time(struct json *json, const char *key, uint64_t ns)
{
	json_add_fixed(json, key, ns / NS_PER_US, (unsigned int)(ns % NS_PER_US));
}

void trace_events_name(struct trace_events *events, const char *what, uint32_t pid, uint32_t tid,
		       const char *name)
{
	struct json json = {.out = events->out};

	trace_events_separate(events);
	json_object_begin(&json, NULL);
	trace_event_head(&json, what, "M", pid, tid);
	json_object_begin(&json, "args");
	json_add_string(&json, "name", name);
	json_object_end(&json);
	json_object_end(&json);
}
