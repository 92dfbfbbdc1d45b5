/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two measurements of what blocked workers: which hotspots are gone, new, or changed. */
#ifndef DWELL_MODEL_COMPARISON_H
#define DWELL_MODEL_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* A hotspot as far as it is compared. */
struct compared_hotspot {
	char *function; /* "" = none given; owned by the side */
	char *cause;
	uint64_t count, total_ns, max_ns;
};

/* One measurement. All zeros is empty. */
struct compared_side {
	uint64_t threshold_ns;
	uint64_t duration_ns; /* measured */
	bool is_seen;	      /* a poll or turn at all: without one nothing could be too long */
	struct compared_hotspot *hotspots;
	size_t count, room;
};

/* Copies the strings; those of one function and cause are one. 0 or -ENOMEM. */
int compared_add(struct compared_side *side, const char *function, const char *cause,
		 uint64_t count, uint64_t total_ns, uint64_t max_ns) must_check;
void compared_release(struct compared_side *side);

enum comparison_change {
	CHANGE_NEW,
	CHANGE_WORSE,
	CHANGE_SAME, /* by less than a tenth */
	CHANGE_BETTER,
	CHANGE_GONE,
};

struct comparison_item {
	const char *function, *cause; /* the sides' */
	enum comparison_change change;
	struct compared_hotspot a, b; /* all zeros: not there */
	double share_a, share_b;      /* of the measured time */
};

struct comparison {
	struct comparison_item *items; /* by change of share, what got worse first */
	size_t count;
	double share_a,
		share_b; /* of the measured time in stalls; of several workers may be above 1 */
};

/* The sides must outlive it. 0 or -ENOMEM. */
int comparison_make(struct comparison *comparison, const struct compared_side *a,
		    const struct compared_side *b) must_check;
void comparison_release(struct comparison *comparison);

#endif
