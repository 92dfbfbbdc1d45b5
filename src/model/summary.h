/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many intervals as one: what each thread did in all of them. */
#ifndef DWELL_MODEL_SUMMARY_H
#define DWELL_MODEL_SUMMARY_H

#include "base/identities.h"
#include "model/interval.h"

/* All zeros is empty. */
struct summary {
	struct interval whole; /* rows by thread; its rows are the summary's */
	uint64_t intervals;
	uint64_t
		measured_ns; /* sum of the intervals: less than whole.end - start where some miss */
	struct identities identities;
	size_t row_room;
};

/* Takes an interval by thread. 0 or -ENOMEM. */
int summary_add(struct summary *summary, const struct interval *interval) must_check;
void summary_release(struct summary *summary);

#endif
