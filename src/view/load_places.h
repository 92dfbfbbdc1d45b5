/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a group's CPU time and work are divided over caches and nodes, for its fields and the page.
 */
#ifndef DWELL_VIEW_LOAD_PLACES_H
#define DWELL_VIEW_LOAD_PLACES_H

#include "base/output.h"
#include "emit/schema.h"
#include "load/outcome.h"

/* What a struct place_row describes. */
extern const struct schema load_place_schema;

struct place_row {
	unsigned int id; /* the cache's or node's */
	struct summary_place place, whole;
};

/* One of the places of a group: `places` are the outcome's of these parts. */
struct place_row load_place(const struct topology_parts *parts, const struct summary_place *places,
			    size_t group, size_t number);

/* Nothing where there is one cache and one node. */
void load_places_table(struct output *out, const struct outcome *outcome);

#endif
