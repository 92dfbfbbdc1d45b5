/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `load --observe`: the accounting of `dwell top` over the workers of a run, from when they all
 * exist and none has begun, to their ends.
 */
#ifndef DWELL_SESSION_LOAD_OBSERVER_H
#define DWELL_SESSION_LOAD_OBSERVER_H

#include "load/outcome.h"

struct observer;

/* Of the children of this process: observer.h. */
int load_observer_open(struct observer **ret_observer, struct error *error) must_check;

/* Gives each worker its states. 0 or -ENOMEM. */
int load_observer_take(const struct observer *observer, struct outcome *outcome) must_check;

#endif
