/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that are kept: a directory each, never overwritten. */
#ifndef DWELL_RESULTS_LOAD_STORE_H
#define DWELL_RESULTS_LOAD_STORE_H

#include <limits.h>

#include "load/outcome.h"

#define LOAD_STORE_TRACE "trace.json" /* of a run that failed: load/run_trace.h */

struct load_store {
	char directory[PATH_MAX]; /* of this run; "" = nothing is kept */
};

/*
 * Makes DIRECTORY/NAME-TIME, with a number behind it where that is taken, and writes the spec into
 * it: before anything is forked, so that a run is not lost to a directory that cannot be written.
 */
int load_store_open(struct load_store *store, const char *directory, const struct spec *spec,
		    struct error *error) must_check;

/* report.json, as a whole or not at all; scheduler.log where one died. Nothing to do where nothing
 * is kept. */
int load_store_write(struct load_store *store, const struct outcome *outcome,
		     struct error *error) must_check;

/* Removes the directory if no report came to be. */
void load_store_close(struct load_store *store);

#endif
