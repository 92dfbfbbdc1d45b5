/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of workers, as JSON lines and as a page of text. */
#ifndef DWELL_VIEW_LOAD_H
#define DWELL_VIEW_LOAD_H

#include "base/output.h"
#include "emit/emit.h"
#include "load/outcome.h"

extern const struct schema load_schema, load_group_schema, load_check_schema, worker_schema;

/*
 * In JSON a line per worker, then one of the run; in formats of rows the groups. `samples`: all of
 * them, not only their summary. 0 or -ENOMEM.
 */
int load_emit(const struct emit *emit, const struct outcome *outcome, bool samples) must_check;

/* The same as JSON. */
void load_json(struct output *out, const struct outcome *outcome, bool samples);

/* `workers`: a row for each, not only for the groups. */
void load_table(struct output *out, const struct outcome *outcome, bool workers);

#endif
