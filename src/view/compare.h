/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What two sets of runs of `dwell load` differ in, as text and as JSON. */
#ifndef DWELL_VIEW_COMPARE_H
#define DWELL_VIEW_COMPARE_H

#include "base/output.h"
#include "load/compare.h"

/* `paths`: what a and b were read from. `all`: metrics that did not change too. */
void compare_table(struct output *out, const struct load_comparison *comparison,
		   const char *const paths[2], bool all);

/* One object. */
void compare_json(struct output *out, const struct load_comparison *comparison,
		  const char *const paths[2]);

/* For verdicts of people and of programs; NULL of LOAD_UNKNOWN. */
extern const char *const compare_verdicts[LOAD_VERDICTS];

#endif
