// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"

#define RECORD_BYTES 8192 /* at most: Documentation/ABI/testing/dev-kmsg */

int kernel_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* "6,339,5140900,-;sched_ext: ..." and lines of properties that begin with a blank. */
static void take_record(char *record, uint64_t since_ns, struct log_tail *tail)
{
	char *text = strchr(record, ';');
	uint64_t time_us;
	size_t length;

	if (!text || sscanf(record, "%*u,%*u,%" SCNu64, &time_us) != 1 ||
	    time_us < since_ns / NS_PER_US)
		return;
	text++;
	length = strcspn(text, "\n");
	/* a backtrace is indented, and comes right after the reason */
	if (strncmp(text, "sched_ext: ", 11) != 0 && !(tail->used && *text == ' '))
		return;
	text[length] = '\n';
	log_tail_add(tail, text, length + 1);
}

static void read_since(int fd, uint64_t since_ns, struct log_tail *tail)
{
	char record[RECORD_BYTES + 2];
	ssize_t got;

	if (fd < 0)
		return;
	/* EPIPE: some were overwritten before they were read; the next read goes on behind them */
	while ((got = read(fd, record, RECORD_BYTES)) > 0 ||
	       (got < 0 && (errno == EPIPE || errno == EINTR))) {
		record[got > 0 ? got : 0] = '\0';
		if (got > 0)
			take_record(record, since_ns, tail);
	}
}

void kernel_log_read(int fd, struct log_tail *tail)
{
	read_since(fd, 0, tail);
}

void kernel_log_look_back(uint64_t since_ns, struct log_tail *tail)
{
	/* at the oldest record there is */
	cleanup_close int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	read_since(fd, since_ns, tail);
}

bool kernel_log_reason(const char *text, char *into, size_t room)
{
	static const char mark[] = "\" disabled (";
	const char *at = text, *found = NULL, *line;
	int length, more = 0;

	while (at && (at = strstr(at, mark))) {
		at += sizeof(mark) - 1;
		found = at;
	}
	if (!found || !strncmp(found, "unregistered from user space", 28))
		return false;
	length = (int)strcspn(found, ")\n");
	/* the message has a line of its own: "sched_ext: qmap: the message" */
	line = strchr(found, '\n');
	if (line && !strncmp(line + 1, "sched_ext: ", 11)) {
		line += 1 + 11;
		more = (int)strcspn(line, "\n");
	}
	snprintf(into, room, "%.*s%s%.*s", length, found, more ? ": " : "", more, more ? line : "");
	return true;
}
