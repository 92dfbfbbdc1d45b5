/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What there is to see of a worker that is kept from running, taken while it is: before the
 * scheduler gets a signal, which may end it, and before the kernel ejects it.
 */
#ifndef DWELL_LOAD_EVIDENCE_H
#define DWELL_LOAD_EVIDENCE_H

#include <stdint.h>

#include "base/output.h"
#include "scheduler/queues.h"

/* Of the thread `tid` of process `pid`; `what` says who it is and since when. */
void evidence_take(struct output *out, uint32_t pid, uint32_t tid, pid_t scheduler,
		   struct scheduler_queues *queues, const char *what);

#endif
