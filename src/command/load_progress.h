/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line on a terminal while the workers work: how far, and how fast. */
#ifndef DWELL_COMMAND_LOAD_PROGRESS_H
#define DWELL_COMMAND_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status_line.h"
#include "load/run.h"

struct load_progress {
	struct status_line line;
	uint64_t drawn_ns, iterations;
	double rate; /* smoothed, iterations per second */
};

void load_progress_init(struct load_progress *progress, bool quiet);
void load_progress_show(struct load_progress *progress, const struct run *run);

#endif
