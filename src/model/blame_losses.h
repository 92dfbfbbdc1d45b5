/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interval's blame in the order that people read it in: who lost most, and because of whom. */
#ifndef DWELL_MODEL_BLAME_LOSSES_H
#define DWELL_MODEL_BLAME_LOSSES_H

#include "model/blame.h"
#include "model/blame_side.h"

/* What one party lost in one state, or cost in it. */
struct blame_loss {
	const struct blame **shares; /* the largest first */
	size_t count;
	uint64_t total_ns;
	uint64_t ended_ns; /* of it in waits that do not go on */
	bool is_first;	   /* of what this party lost, or cost, in any state */
};

/* All zeros is empty. The shares are the interval's. */
struct blame_losses {
	struct blame_loss *items; /* what is lost most first; behind them states that are no loss */
	size_t count;
	const struct blame **shares;
};

/* With `all_states` also of those in which no time is lost. 0 or -ENOMEM. */
int blame_losses_find(struct blame_losses *ret_losses, const struct interval *interval,
		      enum blame_side side, bool all_states) must_check;
/* Whose losses the first `count` are: one may have several, of a state each. */
size_t blame_losses_parties(const struct blame_losses *losses, size_t count);
void blame_losses_release(struct blame_losses *losses);

#define cleanup_blame_losses cleanup(blame_losses_release)

/* A line about a loss: a share, or several of parties of one name that did the same meanwhile. */
struct blame_line {
	const struct blame *share; /* the largest */
	size_t parties;
	bool is_least; /* there may be more: some are known by process or by name alone */
	uint64_t total_ns;
};

/*
 * The largest lines of a loss, at most `room`; where there are more shares than that, those of one
 * name are one line. What is in none of them goes to `ret_rest_ns`. Returns how many.
 */
size_t blame_loss_lines(const struct blame_loss *loss, enum blame_side side,
			struct blame_line *lines, size_t room, uint64_t *ret_rest_ns);

/*
 * The culprit stands for several threads of its process, or processes of its name: the kernel side
 * had no room for each of them (struct wire_culprit). By cgroup a name stands for any number of
 * processes.
 */
bool blame_is_of_several(const struct blame *blame);

/* Whose loss it is, or who cost it. */
const struct blame_party *blame_loss_party(const struct blame_loss *loss, enum blame_side side);

#endif
