/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a recording's page: which machine it is from, and where the time went. */
#ifndef DWELL_VIEW_REPORT_H
#define DWELL_VIEW_REPORT_H

#include "base/output.h"
#include "model/summary.h"

/* Of a file of so many `bytes`. */
void report_machine(struct output *out, const struct summary *summary, uint64_t bytes);

/* All threads together: the states, largest first, as shares of the threads' time. */
void report_states(struct output *out, const struct summary *summary);

/* When threads lost most, and because of whom; nothing without blame. */
void report_worst(struct output *out, const struct summary *summary);

#endif
