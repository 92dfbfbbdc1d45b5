/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits by reason that have ended in an interval: what a session sends of them is cumulative, so
 * that of the interval before is kept.
 */
#ifndef DWELL_MODEL_REASON_MARKS_H
#define DWELL_MODEL_REASON_MARKS_H

#include "model/interval.h"

/* All zeros is empty. */
struct reason_marks {
	struct wire_reason *now, *before; /* by tid, origin and site */
	size_t count, before_count;
	size_t room, before_room;
	bool has_turned, has_before; /* `before` is of the interval before */
};

/* What comes first has been counted from zero: all of it is of the first interval. */
void reason_marks_begin(struct reason_marks *marks);

/* The interval's reasons; those of the last one are before. -ENOMEM: it is empty then. */
int reason_marks_turn(struct reason_marks *marks, const struct interval *interval) must_check;
void reason_marks_release(struct reason_marks *marks);

/* Those of a thread, by site; how many. */
size_t reason_marks_of(const struct reason_marks *marks, uint32_t tid, uint64_t origin_ns,
		       const struct wire_reason **ret_first);

/* One of `now`: ns of whole waits that have ended since the interval before. */
uint64_t reason_marks_ended(const struct reason_marks *marks, const struct wire_reason *reason);

#endif
