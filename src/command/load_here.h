/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of `dwell load` in this process, and its report. */
#ifndef DWELL_COMMAND_LOAD_HERE_H
#define DWELL_COMMAND_LOAD_HERE_H

#include "command/load_options.h"
#include "command/load_progress.h"
#include "load/outcome.h"
#include "results/load_store.h"
#include "session/load_observer.h"

struct load {
	struct load_options options;
	struct topology topology;
	struct load_store store;
	struct load_observer *observer; /* NULL: without --observe */
	struct load_progress progress;
	struct machine machine; /* as it was when the workers began */
};

/*
 * All that can be known before anything is forked: whether the spec can be run here. -EINVAL or
 * -EEXIST: it is the spec's mistake.
 */
int load_prepare(struct load *load, struct error *error) must_check;

/* The run, and its report, with guardians around it. An exit code; the mistake has been printed. */
int load_run_alone(struct load *load);

#endif
