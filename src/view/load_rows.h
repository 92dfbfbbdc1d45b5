/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the result of a load, for its fields. */
#ifndef DWELL_VIEW_LOAD_ROWS_H
#define DWELL_VIEW_LOAD_ROWS_H

#include <stdbool.h>

#include "base/output.h"
#include "load/outcome.h"

/* Of `load_group_schema`. */
struct group_row {
	const struct outcome *outcome;
	const struct run *run;
	size_t number; /* in the run */
	const struct run_group *worker_group;
	const struct summary *summary;
	struct output *scratch; /* for parameters, one at a time */
};

/* "front pipe-io #1"; the number only where a cgroup has several groups of the type. */
void load_group_name(char *into, size_t room, const struct run *run,
		     const struct run_group *worker_group);

/* A line of JSON; `samples`: all of them, not only their summary. 0 or -ENOMEM. */
int load_write_worker(struct output *out, const struct outcome *outcome,
		      const struct run_group *worker_group, unsigned int number,
		      bool samples) must_check;

#endif
