/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits by reason that have ended in an interval: what a session sends of them is cumulative, so
 * that of the interval before is kept, and that of the one before it: a snapshot may miss a thread.
 */
#ifndef DWELL_MODEL_REASON_MARKS_H
#define DWELL_MODEL_REASON_MARKS_H

#include "model/interval.h"

/* All zeros is empty. */
struct reason_marks {
	struct wire_reason *now, *before, *earlier; /* by tid, origin and site */
	size_t count, before_count, earlier_count;
	size_t room, before_room, earlier_room;
	bool has_turned, has_before; /* `before` is of the interval before */
};

/* What comes first has been counted from zero: all of it is of the first interval. */
void reason_marks_begin(struct reason_marks *marks);

/* The interval's reasons; those of the last one are before. -ENOMEM: it is empty then. */
int reason_marks_turn(struct reason_marks *marks, const struct interval *interval) must_check;
void reason_marks_release(struct reason_marks *marks);

/* What reasons were when a time began that is longer than an interval. All zeros: nothing. */
struct reason_base {
	struct wire_reason *items; /* by tid, origin and site */
	size_t count, room;
};

/*
 * Begins with the last interval; where none was before it, at its end: what came in it is not
 * known. -ENOMEM: it is empty then.
 */
int reason_base_begin(struct reason_base *base, const struct reason_marks *marks) must_check;

/*
 * Of the last interval's reasons what has come since, into room for marks->count; how many have
 * anything. What was missing twice is forgotten: if it comes again it counts from zero.
 */
size_t reason_base_since(struct reason_base *base, const struct reason_marks *marks,
			 struct wire_reason *into);
void reason_base_release(struct reason_base *base);

/* Those of a thread, by site; how many. */
size_t reason_marks_of(const struct reason_marks *marks, uint32_t tid, uint64_t origin_ns,
		       const struct wire_reason **ret_first);

/* One of `now`: ns of whole waits that have ended since the interval before. */
uint64_t reason_marks_ended(const struct reason_marks *marks, const struct wire_reason *reason);

#endif
