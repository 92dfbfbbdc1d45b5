/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell top` says on a terminal beside its intervals. */
#ifndef DWELL_COMMAND_TOP_PROGRESS_H
#define DWELL_COMMAND_TOP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status_line.h"
#include "session/watch.h"

/* All zeros: standard error is no terminal. */
struct top_progress {
	struct status_line line;
	uint64_t interval_ns, began_ns;	       /* CLOCK_MONOTONIC */
	uint64_t intervals, measured_ns, lost; /* so far */
};

/* After watch_open(): a line counts the seconds of a first interval that takes some. */
int top_progress_begin(struct top_progress *progress, struct watch *watch,
		       struct error *error) must_check;

/* Before an interval is printed. */
void top_progress_interval(struct top_progress *progress, const struct interval *interval);

/* One line that sums up several intervals. */
void top_progress_end(struct top_progress *progress);

#endif
