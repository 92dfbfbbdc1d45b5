/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters for things of which there may be any number: those with the largest weights have their
 * own, all others share one. What is counted for a name while it has no counters of its own stays
 * with the others, so no counter goes back while its name is remembered, and what all of them have
 * counted, those of forgotten names too, is all there was.
 *
 * Pure: the caller brings the time.
 */
#ifndef DWELL_MODEL_LEADERS_H
#define DWELL_MODEL_LEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* A weight halves in that time. */
#define LEADERS_HALF_LIFE_NS (300 * 1000000000ULL)
/*
 * A place changes hands when it was held so long and another name's weight is half as large again,
 * and at once to a name whose weight is of another order.
 */
#define LEADERS_TERM_NS	   (300 * 1000000000ULL)
#define LEADERS_AFTER_TERM 1.5
#define LEADERS_AT_ONCE	   16
/* One that was not counted for so long yields it to any that is: it has been scraped till then. */
#define LEADERS_ABSENT_NS (120 * 1000000000ULL)
/*
 * A name that was not counted for so long is forgotten, with its counters. Where more than half of
 * the room for names is taken, one that has never led, and so has none, is when it is absent.
 */
#define LEADERS_FORGET_NS (3600 * 1000000000ULL)

struct leader {
	char *name; /* any bytes; NULL: of all others together */
	size_t length;
	uint64_t hash;
	bool leads, has_led;
	uint64_t *fresh;  /* since the last turn, of each kind; owned, and the next two with it: */
	uint64_t *counts; /* while it led */
	uint64_t *marked; /* of each mark: the counts when it was set */
	uint64_t gauge;	  /* of the last turn alone */
	uint64_t fresh_gauge;
	double weight;
	uint64_t fresh_weight;
	uint64_t begun_ns; /* its counts have since then: leaders.begin_ns; of the others: 0 */
	uint64_t seen_ns;  /* the last turn in which it was counted */
	uint64_t since_ns; /* it leads */
	bool is_seen;	   /* since the last turn */
};

struct leaders {
	size_t places;	  /* how many lead */
	size_t names_max; /* are remembered */
	size_t kinds;	  /* of counts */
	size_t marks;
	struct leader **items; /* sorted by name */
	size_t count, room;
	struct leader **slots; /* the same, hashed by name: open addressing; NULL: free */
	size_t slot_count;     /* a power of two, at least twice names_max */
	uint64_t key;	       /* of the hash */
	struct leader rest;    /* counts of the others */
	size_t leading;
	uint64_t turn_ns;  /* the last one */
	uint64_t begin_ns; /* of what is counted now, by any clock: the caller's, for new names */
	uint64_t unnamed;  /* times that a name found no room, and was counted with the others */
};

/* 0 or -ENOMEM. */
int leaders_init(struct leaders *leaders, size_t places, size_t names_max, size_t kinds,
		 size_t marks) must_check;
void leaders_release(struct leaders *leaders);

/*
 * To be counted in its `fresh`, `fresh_weight` and `fresh_gauge`, until leaders_turn(); the others'
 * where there is no room for another name.
 */
struct leader *leaders_at(struct leaders *leaders, const char *name, size_t length);

/* NULL: it is not remembered. */
struct leader *leaders_find(const struct leaders *leaders, const char *name, size_t length);

/*
 * Decides who leads; then what is fresh can still be moved, until it is booked. leaders_turn() does
 * both.
 */
void leaders_elect(struct leaders *leaders, uint64_t now_ns);
void leaders_book(struct leaders *leaders);
void leaders_turn(struct leaders *leaders, uint64_t now_ns);

/* What has been counted of that kind since the mark was set, or from the beginning. */
static inline uint64_t leader_since(const struct leaders *leaders, const struct leader *leader,
				    size_t mark, size_t kind)
{
	return leader->counts[kind] - leader->marked[mark * leaders->kinds + kind];
}

void leaders_set_mark(struct leaders *leaders, size_t mark);

#endif
