/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a recording's page: which machine it is from, and where the time went. */
#ifndef DWELL_VIEW_REPORT_H
#define DWELL_VIEW_REPORT_H

#include "base/output.h"
#include "model/findings.h"
#include "model/summary.h"

/* Of a file of so many `bytes`. */
void report_machine(struct output *out, const struct summary *summary, uint64_t bytes);

/* All threads together: the states, largest first, as shares of the threads' time. */
void report_states(struct output *out, const struct summary *summary);

/*
 * How many threads were in which state over the recording: a line for each state that is lost and
 * for the time on a CPU, as bars on one scale. Nothing of a single period.
 */
void report_course(struct output *out, const struct summary *summary);

/* What stands out, in sentences; nothing without any. */
void report_findings(struct output *out, const struct findings *findings,
		     const struct session_info *session);

/* Who cost whom, by process, in `top` rows; and when it was worst. 0 or -ENOMEM. */
int report_blame(struct output *out, const struct summary *summary, size_t top) must_check;

#endif
