// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/trace_instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tracefs.h"

#define DIRECTORY "instances"
#define PREFIX	  "dwell-"

/* One in use is busy. */
static void tidy(int tracefs)
{
	cleanup_dir DIR *instances = dir_reading(tracefs, DIRECTORY);
	struct dirent *entry;

	while (instances && (entry = readdir(instances)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			unlinkat(dirfd(instances), entry->d_name, AT_REMOVEDIR);
}

void trace_instances_tidy(void)
{
	cleanup_close int tracefs = tracefs_open();

	if (tracefs >= 0)
		tidy(tracefs);
}

const char *trace_instance_open(struct trace_instance *instance, const char *purpose)
{
	*instance = (struct trace_instance)TRACE_INSTANCE_NONE;
	instance->tracefs = tracefs_open();
	if (instance->tracefs == -EACCES || instance->tracefs == -EPERM)
		return "tracefs needs privileges (CAP_SYS_ADMIN)";
	if (instance->tracefs < 0)
		return "the kernel has no tracefs (CONFIG_TRACING)";
	tidy(instance->tracefs);
	snprintf(instance->name, sizeof(instance->name), DIRECTORY "/" PREFIX "%s-%d", purpose,
		 getpid());
	if (mkdirat(instance->tracefs, instance->name, 0700) < 0) {
		const char *why = strerror(errno);

		close(instance->tracefs);
		instance->tracefs = -1;
		return why;
	}
	instance->directory =
		openat(instance->tracefs, instance->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (instance->directory >= 0)
		instance->in_use = openat(instance->directory, "tracing_on", O_RDONLY | O_CLOEXEC);
	if (instance->in_use >= 0)
		return NULL;
	trace_instance_close(instance);
	return "no trace instance can be opened";
}

bool trace_instance_write(const struct trace_instance *instance, const char *path, const char *text)
{
	cleanup_close int fd = openat(instance->directory, path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

void trace_instance_close(struct trace_instance *instance)
{
	if (instance->in_use >= 0)
		close(instance->in_use);
	if (instance->directory >= 0)
		close(instance->directory);
	if (instance->tracefs >= 0) {
		unlinkat(instance->tracefs, instance->name, AT_REMOVEDIR);
		close(instance->tracefs);
	}
	*instance = (struct trace_instance)TRACE_INSTANCE_NONE;
}
