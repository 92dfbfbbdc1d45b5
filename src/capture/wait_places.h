/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the code at a place in a program waits for, by the symbols of the mapped file. It reads
 * files, memory maps and stacks that programs under study have shaped, and may hang or die of them:
 * it runs in a helper (base/helper.h).
 */
#ifndef DWELL_CAPTURE_WAIT_PLACES_H
#define DWELL_CAPTURE_WAIT_PLACES_H

#include "base/helper.h"
#include "bpf/config.h"

enum places_kind {
	PLACES_PRELOAD, /* only key.pid counts: reads the files that it has mapped */
	PLACES_WALK,
	PLACES_LOCK, /* only site.tid and site.futex.address count: reads the lock there */
};

struct places_question {
	uint32_t kind;
	uint32_t fresh; /* first of a round: what is mapped may have changed since the last one */
	struct site_question site;
};

/* What was found on the way up from the place asked about, through its callers. */
struct places_answer {
	uint32_t verdict; /* enum site_verdict */
	uint32_t count;
	uint32_t lock[LOCK_WORDS]; /* of PLACES_LOCK */
	uint32_t has_lock;
	struct {
		struct site_key key;
		struct site site;
	} places[SITE_CALLERS + 1];
};

extern const struct helper_work places_work;

#endif
