/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each row did over the intervals seen so far: sums, and the shares of the last ones. */
#ifndef DWELL_MODEL_HISTORY_H
#define DWELL_MODEL_HISTORY_H

#include "model/group.h"
#include "base/identities.h"
#include "model/interval.h"

#define HISTORY_INTERVALS 60

struct history_item {
	struct row sum; /* counts and times of all intervals */
	/* share of each state, in 1/255 of the row's time, in a ring of intervals */
	uint8_t shares[HISTORY_INTERVALS][STATES];
	uint64_t intervals; /* it was seen in; shares[(intervals - 1) % …] is the last */
	uint64_t last;	    /* number of the interval it was last seen in */
};

/* All zeros is empty. */
struct history {
	struct identities identities;
	struct history_item *items;
	size_t room;
	uint64_t number; /* of the present interval, from 1 */
	size_t ended;	 /* rows, since they were last forgotten */
};

/* Takes an interval of rows grouped `by`. 0 or -ENOMEM. */
int history_add(struct history *history, const struct interval *interval,
		enum grouping by) must_check;

/* Of a row that is seen for the first time. */
void history_begin(struct history_item *item, const struct row *row);

/* NULL: never seen before the interval it ended in. */
const struct history_item *history_find(const struct history *history, const struct row *row,
					enum grouping by);

/* Who a row is, among rows grouped `by`. */
struct identity row_identity(const struct row *row, enum grouping by);

void history_clear(struct history *history);
void history_release(struct history *history);

#endif
