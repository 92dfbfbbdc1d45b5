/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last that was said, a bounded length of it, as text. */
#ifndef DWELL_SCHEDULER_LOG_TAIL_H
#define DWELL_SCHEDULER_LOG_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_TAIL_BYTES_MAX (256 * 1024)

struct log_tail {
	char *text; /* ended by a NUL; NULL: nothing was said */
	size_t used, room;
	bool cut; /* the beginning is missing */
};

/* Without memory the new bytes are lost, and the words are cut. */
void log_tail_add(struct log_tail *tail, const char *bytes, size_t length);

/* What can be read now of a descriptor that does not block. False: it has ended. */
bool log_tail_read(struct log_tail *tail, int fd);

void log_tail_release(struct log_tail *tail);

#endif
