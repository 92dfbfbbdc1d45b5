/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stops a run must get a CPU when it is due, however many workers want one, and even if the
 * sched_ext scheduler under test gives nobody any: SCHED_FIFO, where that is permitted. Processes
 * forked meanwhile are normal ones again.
 */
#ifndef DWELL_BASE_PRIORITY_H
#define DWELL_BASE_PRIORITY_H

#include <stdbool.h>

/*
 * False: not permitted, or somebody has chosen a policy or a nice value for us already, which the
 * workers are to inherit.
 */
bool priority_raise(void);

/* Back to normal, after priority_raise() returned true. */
void priority_restore(void);

#endif
