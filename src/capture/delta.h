/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cumulative records change little from one snapshot to the next. Before compression, a record is
 * replaced by its difference, word by word modulo 2^64, to the one of the same thread in the
 * snapshot before: of a thread that only waited, two words are not zero, and the same as in all
 * others of its kind. Undone, the records are the same bytes again.
 */
#ifndef DWELL_CAPTURE_DELTA_H
#define DWELL_CAPTURE_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/wire.h"
#include "capture/recording_layout.h"

/* Kinds that are replaced: threads (also their last record), and delay accounting. */
enum delta_family {
	DELTA_THREADS,
	DELTA_DELAYS,
	DELTA_FAMILIES,
};

/* All zeros: nothing to refer to, all records stay whole. */
struct delta {
	const struct recording_layout *layout; /* of the records; NULL: ours */
	struct delta_snapshot {
		char *bytes; /* records of one size, one after the other */
		size_t count, room;
		size_t expected; /* of the previous one: the next to be referred to, most likely */
	} previous[DELTA_FAMILIES], present[DELTA_FAMILIES];
};

/* Where the records so far become those the next are compared with: after each WIRE_INTERVAL. */
void delta_next(struct delta *delta);
void delta_clear(struct delta *delta);

/* From now on records are as `layout` says; those so far are forgotten. */
void delta_lay_out(struct delta *delta, const struct recording_layout *layout);
void delta_release(struct delta *delta);

/*
 * Writes the record, or its difference, to `into` (as large as the record). Returns 0 or -ENOMEM.
 */
int delta_encode(struct delta *delta, const struct wire_header *record, void *into) must_check;

/*
 * Makes the record at `from`, of at most `room` bytes, whole. Returns its size, the same before and
 * after, and where it is (valid until the next call), or -EBADMSG, -ENOMEM.
 */
long delta_decode(struct delta *delta, const void *from, size_t room,
		  const struct wire_header **ret_record) must_check;

#endif
