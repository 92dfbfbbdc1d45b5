/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell record` has written. */
#ifndef DWELL_VIEW_RECORDED_H
#define DWELL_VIEW_RECORDED_H

#include <stdbool.h>

#include "bpf/wire.h"
#include "emit/emit.h"

struct recorded {
	const char *path;
	const char *source; /* where the figures come from; NULL: no interval came */
	bool has_blame;	    /* because of whom threads waited is in it */
	uint64_t intervals;
	uint64_t bytes, files;	   /* of all files of a rotation */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t start_realtime_ns;
	size_t threads; /* in the interval that had most */
	struct wire_losses losses;
};

/* The row is a struct recorded. */
extern const struct schema recorded_schema;

/* "night.dwell: 28800 intervals, 41 MiB, lost 0". */
void recorded_line(struct output *out, const struct recorded *recorded);

#endif
