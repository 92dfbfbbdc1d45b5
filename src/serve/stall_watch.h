/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `dwell blocked` of some programs, all the time: each is watched by a run of this program of its
 * own, whose lines are counted. When it ends, as the watched program did, another one is started.
 */
#ifndef DWELL_SERVE_STALL_WATCH_H
#define DWELL_SERVE_STALL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/hotspots.h"

#define STALL_WATCHES 4

struct stall_counts_of {
	const char *process;
	bool is_up;	/* there is a program of that name, and it is watched */
	uint64_t stuck; /* workers that have not come back for a second, now */
	uint64_t by_cause[STALL_CAUSES_COUNT];
	uint64_t by_length[STALL_BUCKETS]; /* bucket i: from 2^i to 2^(i+1) ns */
	uint64_t total_ns;
	uint64_t longest_ns; /* since stall_watch_reset_longest() */
	char function[128];  /* of the last stall; "": not known */
	uint64_t last_ns, last_tid, last_start_ns;
	char words[256]; /* what its run has said last */
	bool words_are_new;
};

struct stall_watch;

/* Forks what starts them; it has all rights that the caller has now. Names are not copied. */
int stall_watch_start(struct stall_watch **ret_watch, const char *const *names, size_t count,
		      uint64_t threshold_ns, struct error *error) must_check;
void stall_watch_end(struct stall_watch *watch); /* takes NULL */

size_t stall_watch_count(const struct stall_watch *watch);

/* Readable when stall_watch_work() has something to do. */
int stall_watch_descriptor(const struct stall_watch *watch, size_t index);

/* False: what watches has been killed, and nothing more will come. */
bool stall_watch_work(struct stall_watch *watch, size_t index) must_check;

/* What a run has said, if that is new; else NULL. */
const char *stall_watch_words(struct stall_watch *watch, size_t index);

struct stall_recent;
const struct stall_recent *stall_watch_recent(const struct stall_watch *watch, size_t index);
const struct stall_counts_of *stall_watch_counts(const struct stall_watch *watch, size_t index);
void stall_watch_reset_longest(struct stall_watch *watch);

#endif
