// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/tracefs.h"

#define TRIGGER	   "/proc/sysrq-trigger"
#define EVENT	   "sched_ext_dump"
#define LINES_MOST 4000
#define TAKEN_NS   (300 * NS_PER_MS) /* until all of it is in the buffer */

static bool write_to(int directory, const char *path, const char *text)
{
	cleanup_close int fd = openat(directory, path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
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

static const char *dump_by(struct output *out, int instance)
{
	const struct timespec wait = {.tv_nsec = (long)TAKEN_NS};
	cleanup_close int fd = -1;
	FILE *trace;

	if (!write_to(instance, "events/sched_ext/" EVENT "/enable", "1"))
		return "the kernel has no tracepoint " EVENT;
	if (!write_to(AT_FDCWD, TRIGGER, "D"))
		return "the kernel has no SysRq (CONFIG_MAGIC_SYSRQ)";
	nanosleep(&wait, NULL);
	fd = openat(instance, "trace", O_RDONLY | O_CLOEXEC);
	trace = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!trace)
		return strerror(errno);
	fd = -1;
	copy_lines(out, trace);
	fclose(trace);
	return NULL;
}

void scheduler_dump(struct output *out)
{
	cleanup_close int tracefs = tracefs_open();
	cleanup_close int instance = -1;
	size_t before = out->used;
	const char *why = NULL;
	char name[64];

	snprintf(name, sizeof(name), "instances/dwell-%d", getpid());
	if (access(TRIGGER, W_OK) < 0)
		why = "the kernel has no SysRq (CONFIG_MAGIC_SYSRQ), or it is not for us";
	else if (tracefs < 0 || mkdirat(tracefs, name, 0700) < 0)
		why = "no instance of tracefs can be made";
	if (!why) {
		instance = openat(tracefs, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		why = instance < 0 ? strerror(errno) : dump_by(out, instance);
		unlinkat(tracefs, name, AT_REMOVEDIR);
	}
	if (why)
		output_format(out, "none: %s\n", why);
	else if (out->used == before)
		output_string(out, "none: the kernel wrote nothing\n");
}
