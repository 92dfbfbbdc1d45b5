/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of workers, as JSON lines and as a page of text. */
#ifndef DWELL_VIEW_LOAD_H
#define DWELL_VIEW_LOAD_H

#include "base/output.h"
#include "load/outcome.h"

/* A line per worker, then one of the run. `samples`: all of them, not only their summary. */
void load_json(struct output *out, const struct outcome *outcome, bool samples);

/* `workers`: a row for each, not only for the groups. */
void load_table(struct output *out, const struct outcome *outcome, bool workers);

#endif
