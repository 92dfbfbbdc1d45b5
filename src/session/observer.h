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

struct observer_options {
	enum source_choice choice; /* what is exact needs SOURCE_BPF */
	uint32_t pid;		   /* whose children, and itself */
	bool blame;		   /* as in struct source_options */
};

int observer_open(struct observer **ret_observer, const struct observer_options *options,
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

/* The last one, free to be sorted until the next instant; NULL before the second instant. */
struct interval *observer_interval(const struct observer *observer);

/* The one of that tid that was seen longest: a tid may be used again in a long run. NULL: none. */
const struct row *observer_find(const struct observer *observer, uint32_t tid);

#endif
