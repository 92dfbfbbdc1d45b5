/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code processes had mapped, and when: a stack is unwound when its process may have ended, or
 * run another program. It is put together from what perf events say (perf_event_open(2)), in the
 * order of their times, and has a bound: the oldest programs are forgotten, and of each what other
 * code has taken the place of (symbol/map_places.h).
 *
 * Times are CLOCK_MONOTONIC. Without memory all is forgotten, as when events were lost: no map is
 * better than a wrong one.
 */
#ifndef DWELL_SYMBOL_MAP_HISTORY_H
#define DWELL_SYMBOL_MAP_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/mappings.h"

struct map_history;

struct map_history *map_history_new(void); /* NULL: no memory */
void map_history_free(struct map_history *history);

/* A process has begun, with the map of its parent. */
void map_history_fork(struct map_history *history, uint32_t pid, uint32_t parent, uint64_t time_ns);
/* Its map is empty, and another program's from then on. */
void map_history_exec(struct map_history *history, uint32_t pid, uint64_t time_ns);
void map_history_exit(struct map_history *history, uint32_t pid, uint64_t time_ns);
/* It has mapped code, at mapping->time_ns. The mapping is copied. */
void map_history_map(struct map_history *history, uint32_t pid, const struct mapping *mapping);
/* All that was before that time: of processes that run, the map is not known until then. */
void map_history_forget(struct map_history *history, uint64_t time_ns);

/*
 * Whether the process runs what it ran at that time, as far as is known: then /proc has its map,
 * and knows more. False: it has ended since, or another program was begun.
 */
bool map_history_is_now(const struct map_history *history, uint32_t pid, uint64_t time_ns);

/*
 * From when to when the process that runs now has mapped nothing that makes another map of it
 * wrong: *ret_since <= time_ns < *ret_until. 0: since it began; it has not since then, as far as is
 * known.
 * Returns until when it is not known what was in the place of some of it; 0: it is.
 */
uint64_t map_history_unchanged(const struct map_history *history, uint32_t pid, uint64_t time_ns,
			       uint64_t *ret_since, uint64_t *ret_until);

/*
 * What a process had mapped before anything was seen of it may be read of one that runs: of itself,
 * or of one that it descends from. Its pid, or 0: none. What that has now is then adopted: it is
 * read once, and not for each of its short children.
 */
uint32_t map_history_lacking(const struct map_history *history, uint32_t pid, uint64_t time_ns);

/* `time_ns`: when `now` was read. Of one that has too much, map_history_lacking() is 0 then. */
void map_history_adopt(struct map_history *history, uint32_t pid, const struct mappings *now,
		       uint64_t time_ns);

/* Files take the place of others: what /proc has may be of another moment, and what is here is not.
 */
bool map_history_has_now(const struct map_history *history, uint32_t pid);

/*
 * Which processes may have done so: bits by pid modulo OPENER_GROUPS, the first one in the
 * lowest bit of the first byte.
 */
void map_history_groups(const struct map_history *history, uint64_t since_ns,
			uint8_t ret_bits[OPENER_GROUPS / 8]);

/*
 * What a process had mapped at that time, or until it ended. `now` puts the map of one
 * that runs behind what there is (of a parent of which no exec is known): 0 or a negative errno. 0,
 * or -ENOENT: not known; or -ENOMEM.
 */
typedef int map_history_now(void *data, uint32_t pid, struct mappings *mappings);
int map_history_find(const struct map_history *history, uint32_t pid, uint64_t time_ns,
		     map_history_now *now, void *data, struct mappings *ret_mappings) must_check;

/*
 * What the map of one that runs has at `time_ns` where it has other things than at `from_ns`; with
 * an empty path where it has nothing, or where that is not known. 0, -ENOENT: that is not all that
 * differs, or too much; or -ENOMEM.
 */
int map_history_differences(const struct map_history *history, uint32_t pid, uint64_t from_ns,
			    uint64_t time_ns, struct mappings *ret_mappings) must_check;

/* The program of such a process: what it mapped first. NULL: not known. Valid until the next event.
 */
const char *map_history_program(const struct map_history *history, uint32_t pid, uint64_t time_ns);

/* Its parent; 0: not known. */
uint32_t map_history_parent(const struct map_history *history, uint32_t pid, uint64_t time_ns);

#endif
