/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who gets to see intervals, whether they are measured now or come from a recording. */
#ifndef DWELL_SESSION_AUDIENCE_H
#define DWELL_SESSION_AUDIENCE_H

#include <errno.h>
#include <stdbool.h>

#include "base/error.h"
#include "model/interval.h"

struct audience {
	void *data;
	/* May sort and group the rows in place. A negative errno, with the error, ends it. */
	int (*interval)(void *data, struct interval *interval, struct error *error);
	/* The watched command has ended; may be NULL. */
	int (*child)(void *data, const struct wire_child *child, struct error *error);
	/* Every record, before what it leads to; may be NULL. */
	int (*record)(void *data, const struct wire_header *record, struct error *error);
};

/*
 * Whether the audience's error is the reason of `result`; it is empty where the reader of standard
 * output has closed the pipe: command_write().
 */
static inline bool audience_explains(int result, const struct error *error)
{
	return result < 0 && (*error->text || result == -EPIPE);
}

#endif
