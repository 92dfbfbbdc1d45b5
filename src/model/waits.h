/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of the time that a thread was blocked in an interval, what is known to be of which wait. Where a
 * session keeps waits by reason, that is nearly all. Elsewhere snapshots say what goes on at an
 * interval's two ends: the wait at the end is known whole, the one at the beginning where no other
 * ended in the interval, and what lies between has no reason.
 */
#ifndef DWELL_MODEL_WAITS_H
#define DWELL_MODEL_WAITS_H

#include "model/interval.h"
#include "model/reason_marks.h"

#define WAITS_MAX 32

struct wait_part {
	enum state state; /* state_is_blocked() */
	struct wire_wait_site site;
	uint64_t ns; /* above 0; all parts of a state have its time together, or less */
};

/* Of a row that is one thread; how many. `marks` are those of the row's interval. */
size_t waits_of(struct wait_part into[WAITS_MAX], const struct reason_marks *marks,
		const struct row *row, const struct session_info *session);

#endif
