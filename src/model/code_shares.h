/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of a recording with stacks, how much of the time of each program was in which code: shares of the
 * level SHARE_CODE. Of times off a CPU each counts by the probability with which it was chosen, in
 * the batches in which it was; samples on a CPU divide the thread's time in the interval.
 */
#ifndef DWELL_MODEL_CODE_SHARES_H
#define DWELL_MODEL_CODE_SHARES_H

#include "model/shares.h"
#include "model/stacks.h"

/* All zeros is empty. */
struct code_shares {
	struct stacks stacks;
	struct wire_spent *spent; /* in the present interval */
	size_t count, room;
};

/* Takes what is of stacks. 0, -ENOMEM, or -EBADMSG for a record that cannot be. */
int code_shares_feed(struct code_shares *code, const struct wire_header *record) must_check;

/* The interval that ends, after shares_add() of it. 0 or -ENOMEM. */
int code_shares_add(struct code_shares *code, struct shares *shares,
		    const struct interval *interval) must_check;

void code_shares_release(struct code_shares *code);

#endif
