/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that end at once, for types that make them over and over. */
#ifndef DWELL_LOAD_WORK_CHILD_H
#define DWELL_LOAD_WORK_CHILD_H

#include "load/worker.h"

/* Makes one. -1: refused, which has been noted, and it has rested for a moment. */
pid_t child_fork(struct worker *worker);

/*
 * Waits until it has ended, and how long that took is a resume sample. False: stopped meanwhile;
 * the child is gone nonetheless.
 */
bool child_await(struct worker *worker, pid_t child);

#endif
