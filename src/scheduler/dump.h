/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's sched_ext knows now, while the scheduler lives. */
#ifndef DWELL_SCHEDULER_DUMP_H
#define DWELL_SCHEDULER_DUMP_H

#include "base/output.h"

/*
 * The dump that SysRq-D makes (kernel/sched/ext.c): the run queue of each CPU, each runnable thread
 * with its dispatch queue, and what the scheduler's dump callbacks add. It comes by the tracepoint
 * sched_ext_dump, in a trace instance of our own. Appends a line that says why where there is none:
 * the kernel has no SysRq, no tracepoint, or no scheduler is in use.
 */
void scheduler_dump(struct output *out);

#endif
