/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of `dwell load` that are measured to be put together, each in a process of its own, one
 * after the other: of --ab (results/load_pairs.h) and --sweep (results/load_rounds.h).
 */
#ifndef DWELL_RESULTS_LOAD_CHILDREN_H
#define DWELL_RESULTS_LOAD_CHILDREN_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "load/side.h"

/* With so many in a row that do not come to their end, no other is tried. */
#define LOAD_CHILDREN_VOID_MAX 3

struct load_children {
	void *data; /* for these */
	/*
	 * In the child, which is to end with the exit status of a run: its standard output takes
	 * the report as JSON. `parent`, `out` and `error` are for forked_prepare().
	 */
	void (*become)(void *data, pid_t parent, int out, int error);
	void (*tick)(void *data); /* while it runs, now and then */
	/* What the person who waits has to know meanwhile. */
	void (*warn)(void *data, const char *text);
	bool interrupted; /* by a signal: the run that there was is ended, and no other begun */
	sigset_t heard, mask;
};

/* From now on signals that would end us end the run that there is. */
void load_children_begin(struct load_children *children);
void load_children_end(struct load_children *children);

/*
 * One run. 1: its report is whole, and in *ret_report, a descriptor to be closed; 0: it is not,
 * with why in `error`, after `title`, of what run it is; -EINVAL: its spec is wrong; -errno.
 */
int load_children_run(struct load_children *children, const char *title, int *ret_report,
		      struct error *error) must_check;

/* Adds a report of a run to a side. */
int load_children_take(int report, struct load_side *side, struct error *error) must_check;

/* Where --save keeps runs; NULL: nowhere, which is right. */
int load_children_directory(const char *path, struct error *error) must_check;

#endif
