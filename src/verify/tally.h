/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known so far of each pattern and state, round by round. */
#ifndef DWELL_VERIFY_TALLY_H
#define DWELL_VERIFY_TALLY_H

#include "verify/batch.h"
#include "verify/verify.h"

/* With all patterns that are asked for. -EINVAL: there is none of that name; -ENOMEM. */
int tally_begin(struct verification *result, const struct verify_options *options,
		struct error *error) must_check;

/* NULL: it is not asked for. */
struct pattern_result *tally_find(struct verification *result, const char *name);

/* The threads of a batch in a round, from 1, against what was observed. 0 or -ENOMEM. */
int tally_batch(struct verification *result, unsigned int round,
		const struct batch_truths *truths) must_check;

/* After all rounds: ranks, counts, the verdict. */
void tally_end(struct verification *result, unsigned int rounds);

#endif
