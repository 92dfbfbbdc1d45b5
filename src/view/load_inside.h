/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened inside sched_ext during a run, for its fields and its page. */
#ifndef DWELL_VIEW_LOAD_INSIDE_H
#define DWELL_VIEW_LOAD_INSIDE_H

#include "base/output.h"
#include "emit/schema.h"
#include "load/outcome.h"

/* Of a struct run. */
extern const struct schema load_inside_schema;

/* Why there are no counts of events; NULL: there are. */
const char *load_events_unknown(const struct scheduler_inside *inside);

/* Nothing where no sched_ext scheduler was seen. */
void load_inside_table(struct output *out, const struct outcome *outcome);

#endif
