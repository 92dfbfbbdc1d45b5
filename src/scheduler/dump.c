// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/cleanup.h"
#include "scheduler/trace_instance.h"

#define TRIGGER	   "/proc/sysrq-trigger"
#define EVENT	   "sched_ext_dump"
#define LINES_MOST 4000
#define TAKEN_NS   (300 * NS_PER_MS) /* until all of it is in the buffer */

static bool trigger(void)
{
	cleanup_close int fd = open(TRIGGER, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "D", 1) == 1;
}

/* The words of the dump are behind the name of the tracepoint. */
static void copy_lines(struct output *out, FILE *trace)
{
	char line[1024];

	for (unsigned int count = 0; count < LINES_MOST && fgets(line, sizeof(line), trace);) {
		const char *text = strstr(line, EVENT ": ");

		if (!text)
			continue;
		output_string(out, text + strlen(EVENT ": "));
		count++;
	}
}

static const char *dump_by(struct output *out, const struct trace_instance *instance)
{
	const struct timespec wait = {.tv_nsec = (long)TAKEN_NS};
	cleanup_file FILE *trace = NULL;

	if (!trace_instance_write(instance, "events/sched_ext/" EVENT "/enable", "1"))
		return "the kernel has no tracepoint " EVENT;
	if (!trigger())
		return "the kernel has no SysRq (CONFIG_MAGIC_SYSRQ)";
	nanosleep(&wait, NULL);
	trace = file_reading(openat(instance->directory, "trace", O_RDONLY | O_CLOEXEC));
	if (!trace)
		return strerror(errno);
	copy_lines(out, trace);
	return NULL;
}

void scheduler_dump(struct output *out)
{
	struct trace_instance instance = TRACE_INSTANCE_NONE;
	size_t before = out->used;
	const char *why;

	if (access(TRIGGER, W_OK) < 0)
		why = "the kernel has no SysRq (CONFIG_MAGIC_SYSRQ), or it is not for us";
	else
		why = trace_instance_open(&instance, "dump");
	if (!why)
		why = dump_by(out, &instance);
	trace_instance_close(&instance);
	if (why)
		output_format(out, "none: %s\n", why);
	else if (out->used == before)
		output_string(out, "none: the kernel wrote nothing\n");
}
