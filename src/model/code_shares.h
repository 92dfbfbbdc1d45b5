/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of a recording with stacks, how much of the time of each program was in which code: shares of the
 * level SHARE_CODE. How much in all is what the profile of the recording says (model/profile.h), so
 * no function has more than its thread had; when it was, those say that were taken in each
 * interval.
 */
#ifndef DWELL_MODEL_CODE_SHARES_H
#define DWELL_MODEL_CODE_SHARES_H

#include "base/identities.h"
#include "model/profile.h"
#include "model/shares.h"

/* All zeros is empty. */
struct code_shares {
	struct profile *profile;
	struct wire_spent *spent; /* in the present interval */
	size_t count, room;
	struct identities cell_ids; /* (thread of the profile, key of the share) */
	struct series *cells;
	size_t cell_room;
	unsigned int each; /* intervals in a batch of `cells` */
};

/* Takes what a profile is made of. 0, -ENOMEM, or -EBADMSG for a record that cannot be. */
int code_shares_feed(struct code_shares *code, const struct wire_header *record) must_check;

/* The interval that ends, after shares_add() of it. 0 or -ENOMEM. */
int code_shares_add(struct code_shares *code, struct shares *shares,
		    const struct interval *interval) must_check;

/* After the last: now the shares have it. 0 or -ENOMEM. */
int code_shares_end(struct code_shares *code, struct shares *shares) must_check;

void code_shares_release(struct code_shares *code);

#endif
