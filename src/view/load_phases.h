/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of a run, for its fields and its page. */
#ifndef DWELL_VIEW_LOAD_PHASES_H
#define DWELL_VIEW_LOAD_PHASES_H

#include "emit/schema.h"
#include "load/outcome.h"

/* Of a struct run_phase; its context is the outcome. */
extern const struct schema load_phase_schema;

/* A group in a phase, both counted from 0; it has no workers where the group was not there. */
static inline const struct summary *phase_group(const struct outcome *outcome, size_t phase,
						size_t group)
{
	return &outcome->phase_summaries[phase * outcome->run->worker_group_count + group];
}

#endif
