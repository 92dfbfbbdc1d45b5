/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one program came to have mapped, in the order of time (symbol/map_history.h). So much of it
 * is kept: what other code has taken the place of goes first. Of the time before, it is known where
 * something is missing.
 */
#ifndef DWELL_SYMBOL_MAP_PLACES_H
#define DWELL_SYMBOL_MAP_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Of one program: more would drive out all others. And so many that it had when it was found. */
#define MAP_PLACES_MAX	   512
#define MAP_PLACES_HAD_MAX 4096
#define MAP_PLACES_LOST	   16

/* As struct mapping; its path is numbered. */
struct map_place {
	uint64_t start, end, offset, device, inode, time_ns;
	size_t path;
	bool is_change;	 /* an older map may have another file there */
	bool is_dropped; /* about to be */
};

/* All zeros is empty. */
struct map_places {
	struct map_place *items;
	size_t count, room;
	size_t had;	/* of these: the first, of before all times */
	bool is_cut;	/* something that may still be there has been dropped */
	bool is_reused; /* a file was mapped where another one had been */
	/* Where other code was until a time, of which nothing is known; and the last of these
	 * times. */
	struct map_lost {
		uint64_t start, end, until_ns;
	} lost[MAP_PLACES_LOST];
	size_t lost_count;
	uint64_t lost_ns;
};

void map_places_release(struct map_places *places);

/* Behind those that there are. 1: it is a change; 0: it is none; or -ENOMEM. */
int map_places_add(struct map_places *places, struct map_place place) must_check;

/*
 * What there is now where nothing has been mapped that is known: `count` of them come before all.
 * Nothing is cut any more. 0, -E2BIG or -ENOMEM.
 */
int map_places_adopt(struct map_places *places, const struct map_place *now,
		     size_t count) must_check;

/* What was there before the time is not known. */
void map_places_lose(struct map_places *places, uint64_t start, uint64_t end, uint64_t time_ns);

/*
 * From when to when nothing has changed around a time, as far as is known: *ret_since <= time_ns <
 * *ret_until. 0: since ever; not since then.
 */
void map_places_unchanged(const struct map_places *places, uint64_t time_ns, uint64_t *ret_since,
			  uint64_t *ret_until);

#endif
