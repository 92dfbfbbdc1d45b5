/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last stalls of the programs that are watched, as the page shows them. */
#ifndef DWELL_SERVE_STALL_RECENT_H
#define DWELL_SERVE_STALL_RECENT_H

#include "base/output.h"

#define STALLS_RECENT 20
/* A longer line, as of a very deep stack, is not kept. */
#define STALL_RECENT_BYTES (64 << 10)

/* Lines of `dwell blocked --format json`. All zeros is empty. */
struct stall_recent {
	char *stalls[STALLS_RECENT]; /* a ring */
	size_t next;
	char *stuck; /* NULL: none is stuck */
};

/* The line is JSON. What there is no memory for is not kept. */
void stall_recent_add(struct stall_recent *recent, const char *line, size_t length);
/* NULL: none is stuck any more. */
void stall_recent_set_stuck(struct stall_recent *recent, const char *line, size_t length);
void stall_recent_release(struct stall_recent *recent);

struct stall_watch;

/* An array with an object for each program: docs/formats/json.md. `watch` may be NULL. */
void stall_recent_write(const struct stall_watch *watch, struct output *out);

#endif
