/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace instance of our own (Documentation/trace/ftrace.rst, "Instances"): no other tracer sees
 * it. */
#ifndef DWELL_SCHEDULER_TRACE_INSTANCE_H
#define DWELL_SCHEDULER_TRACE_INSTANCE_H

#include <stdbool.h>

struct trace_instance {
	int tracefs;
	int directory; /* of the instance; -1: none was made */
	int in_use;    /* an open file of it: the kernel refuses to remove the instance */
	char name[64];
};

#define TRACE_INSTANCE_NONE                                                                        \
	{                                                                                          \
		.tracefs = -1, .directory = -1, .in_use = -1                                       \
	}

/*
 * Makes one; `purpose` distinguishes those of this process. NULL, or why there is none: a text of
 * static storage.
 */
const char *trace_instance_open(struct trace_instance *instance, const char *purpose);

/* Whether the kernel has taken `text` for the file at `path`. */
bool trace_instance_write(const struct trace_instance *instance, const char *path,
			  const char *text);

/* Removes it. Takes TRACE_INSTANCE_NONE. */
void trace_instance_close(struct trace_instance *instance);

/* Removes those that a process of dwell has left which was killed. Part of trace_instance_open().
 */
void trace_instances_tidy(void);

#endif
