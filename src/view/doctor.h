/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What works on this machine. */
#ifndef DWELL_VIEW_DOCTOR_H
#define DWELL_VIEW_DOCTOR_H

#include "capture/checks.h"
#include "emit/emit.h"

struct checkup {
	struct diagnosis *findings; /* one for each of `checks` */
	bool exact;		    /* what `dwell top` shows */
};

/* The row is a struct checkup. */
extern const struct schema doctor_schema;

/* The page of text, for a terminal of so many columns; 0: for none. */
void doctor_table(struct output *out, const struct checkup *checkup, size_t columns);

#endif
