/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The second level of blame: who ran instead of a culprit that was runnable while its victim
 * waited. Nothing measures that pair by pair, but of a culprit's own waits for a CPU it is known
 * exactly who ran: if it was runnable for R in the interval, for X of it because of one thief, and
 * for T of it while the victim waited, then at least T - (R - X) of the victim's time is the
 * thief's. That is a bound, not an estimate, so it accuses no one wrongly.
 */
#ifndef DWELL_MODEL_BLAME_THIEVES_H
#define DWELL_MODEL_BLAME_THIEVES_H

#include "model/blame.h"

/* A thread that was runnable while its victim waited. */
static inline bool blame_thieves_may(const struct blame *blame)
{
	return blame->kind == WIRE_CULPRIT_THREAD && blame->has_meanwhile && blame->culprit.tid &&
	       blame->meanwhile.state == WIRE_RUNNABLE;
}

/*
 * Sets `thief` of those that may have one: their numbers among the items. The victims are all whose
 * blame there is; they are sorted.
 */
void blame_thieves_find(struct blame *items, const size_t *thefts, size_t count,
			struct blame_victim *victims, size_t victim_count);

/* Adds that of another, which has the same victim and culprit after both were summed up. */
void blame_thief_add(struct blame_thief *thief, const struct blame_thief *other);

/* NULL: it is not known of most of the time. */
static inline const struct blame_thief *blame_thief_of(const struct blame *blame)
{
	return blame->thief.least_ns > blame->total_ns / 2 ? &blame->thief : NULL;
}

#endif
