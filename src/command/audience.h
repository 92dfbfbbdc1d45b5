/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who gets to see intervals, whether they are measured now or come from a recording. */
#ifndef DWELL_COMMAND_AUDIENCE_H
#define DWELL_COMMAND_AUDIENCE_H

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

#endif
