/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom the groups of a load waited: as a page of text, and by its schema. */
#ifndef DWELL_VIEW_LOAD_BLAME_H
#define DWELL_VIEW_LOAD_BLAME_H

#include "base/output.h"
#include "emit/schema.h"
#include "load/outcome.h"
#include "model/blame.h"

/* Of struct blame; getters take the outcome as context. */
extern const struct schema load_blame_schema;

/* Of the group of that number, the largest first. */
const struct blame *load_group_blame(const struct outcome *outcome, size_t group,
				     size_t *ret_count);

/* What the group lost in the state of `one` because of all. */
uint64_t load_blame_whole(const struct outcome *outcome, const struct blame *one);

/* The group of the culprit, or its process; empty unless it is a thread. */
void load_blame_culprit(char *into, size_t room, const struct outcome *outcome,
			const struct blame *blame);

void load_blame_table(struct output *out, const struct outcome *outcome);

#endif
