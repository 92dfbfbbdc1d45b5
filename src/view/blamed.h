/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of what blames code: stalls, hotspots, what a worker is stuck in. */
#ifndef DWELL_VIEW_BLAMED_H
#define DWELL_VIEW_BLAMED_H

#include <stdbool.h>

#include "emit/schema.h"
#include "model/stalls.h"

/* What stalls, hotspots and what a worker is stuck in have in common. */
struct stall_blame {
	enum stall_cause cause;
	struct wire_wait_site site;
	uint32_t function, type, stack;
	bool in_place;
	const struct wire_peer *waker, *culprit; /* NULL: the row has none */
	uint32_t waker_function;
	const struct wire_peer *limit; /* likewise */
};

/* Their rows. The context of all is the struct stalls that they are from. */
struct blamed {
	const void *row; /* struct stall or struct hotspot */
	uint64_t duration_ns;
	struct stall_blame blame;
};

/* The row is a struct stall_worker, the context the stalls it is from. */
extern const struct schema blocked_worker_schema;

#endif
