/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounting of `dwell top` over processes that dwell runs itself, from outside, between two
 * instants: one interval, and then perhaps another one.
 */
#ifndef DWELL_SESSION_OBSERVER_H
#define DWELL_SESSION_OBSERVER_H

#include "capture/source.h"
#include "model/interval.h"

struct observer;

/* Of the children of process `pid`, and of itself. What is exact needs SOURCE_BPF. */
int observer_open(struct observer **ret_observer, enum source_choice choice, uint32_t pid,
		  struct error *error) must_check;
void observer_close(struct observer *observer); /* takes NULL */

/* When one of the descriptors is readable, observer_work() has something to do. As of a source. */
int observer_descriptors(const struct observer *observer, int descriptors[SOURCE_DESCRIPTORS]);
int observer_work(struct observer *observer, struct error *error) must_check;

/* Ends the interval before, too, if there is one. */
int observer_begin(struct observer *observer, struct error *error) must_check;
/* When the processes have ended, so that all of their ends are in the interval. */
int observer_end(struct observer *observer, struct error *error) must_check;

/* Adds what its hooks have taken: source_hooks(). */
void observer_hooks(const struct observer *observer, struct hook_stats *stats);

/* The last one; NULL before the second instant. */
const struct interval *observer_interval(const struct observer *observer);

/* The one of that tid that was seen longest: a tid may be used again in a long run. NULL: none. */
const struct row *observer_find(const struct observer *observer, uint32_t tid);

#endif
