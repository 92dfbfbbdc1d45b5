/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a comparison of loads comes to, in sentences. */
#ifndef DWELL_VIEW_COMPARE_WORDS_H
#define DWELL_VIEW_COMPARE_WORDS_H

#include "base/output.h"
#include "load/compare.h"

/*
 * A sentence for each change, the largest first, one for what is the same and one for what is
 * undecided, each on lines of its own.
 */
void compare_sentences(struct output *out, const struct load_comparison *comparison);

/* "-8.1 %", "from 0"; "-" for NAN. */
void compare_share(char *into, size_t room, double share);

/* "+5.2 to +11.3 %"; "-" where there are no bounds. */
void compare_interval(char *into, size_t room, double low, double high);

#endif
