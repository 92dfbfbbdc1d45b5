/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `load --observe`: the accounting of `dwell top` over the workers of a run, from when they all
 * exist and none has begun, to their ends; and because of whom they waited.
 */
#ifndef DWELL_SESSION_LOAD_OBSERVER_H
#define DWELL_SESSION_LOAD_OBSERVER_H

#include "load/outcome.h"

struct load_observer;

/*
 * Of the children of this process, among them the workers of the run, which is to come:
 * run_execute() sets it up.
 */
int load_observer_open(struct load_observer **ret_observer, const struct run *run,
		       struct error *error) must_check;
void load_observer_close(struct load_observer *observer); /* takes NULL */

/* Descriptors of a source, and what they call for: session/observer.h. */
int load_observer_descriptors(const struct load_observer *observer, int *descriptors);
int load_observer_work(struct load_observer *observer, struct error *error) must_check;

/* The workers exist, they run (10 times a second), and they have ended. */
int load_observer_begin(struct load_observer *observer, struct error *error) must_check;
int load_observer_tick(struct load_observer *observer, struct error *error) must_check;
int load_observer_end(struct load_observer *observer, struct error *error) must_check;

/* Gives each worker its states, and each group its blame. 0 or -ENOMEM. */
int load_observer_take(struct load_observer *observer, struct outcome *outcome) must_check;

#endif
