/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounting of `dwell top` over the workers of a run, from outside: from when they all exist
 * and none has begun, to their ends.
 */
#ifndef DWELL_SESSION_LOAD_OBSERVER_H
#define DWELL_SESSION_LOAD_OBSERVER_H

#include "load/outcome.h"

struct load_observer;

/* Of the children of this process. Gives the descriptors to wait for: load_observer_work(). */
int load_observer_open(struct load_observer **ret_observer, int fds[2], unsigned int *ret_fd_count,
		       struct error *error) must_check;
void load_observer_close(struct load_observer *observer); /* takes NULL */

int load_observer_begin(struct load_observer *observer, struct error *error) must_check;
int load_observer_work(struct load_observer *observer, struct error *error) must_check;
int load_observer_end(struct load_observer *observer, struct error *error) must_check;

/* Gives each worker its states. 0 or -ENOMEM. */
int load_observer_take(struct load_observer *observer, struct outcome *outcome) must_check;

#endif
