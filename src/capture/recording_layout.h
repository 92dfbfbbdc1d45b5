/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How large the records of a recording are, and how many states they know: a recording says it, so
 * that one with fewer states or shorter records is read as if it had the rest as zeros.
 * docs/formats/recording.md, "Versions".
 */
#ifndef DWELL_CAPTURE_RECORDING_LAYOUT_H
#define DWELL_CAPTURE_RECORDING_LAYOUT_H

#include "base/cleanup.h"
#include "bpf/wire.h"

#define RECORDING_KINDS	 24 /* up to the last one with records of one size */
#define RECORDING_LAYOUT 17 /* kind of the record that says all this, in recordings only */

struct recording_layout {
	__u32 states;		      /* of threads and stalls */
	__u32 sizes[RECORDING_KINDS]; /* by enum wire_kind; 0: none, or each has another */
};

/* Of this dwell; of recordings that do not say it, of major versions 1 and 2. */
extern const struct recording_layout recording_layout_here, recording_layout_1, recording_layout_2;

struct recording_layout_record {
	struct wire_header header;
	__u32 states;
	__u32 count; /* of what follows */
	__u32 sizes[RECORDING_KINDS + RECORDING_KINDS % 2];
};

/* What this dwell writes. */
struct recording_layout_record recording_layout_record(void);

/*
 * 0; -EBADMSG for a record that says what cannot be. More kinds than we know are passed over, more
 * states not: they come with another major version.
 */
int recording_layout_read(struct recording_layout *layout,
			  const struct wire_header *record) must_check;

/* Where a thread's record has its tid. */
size_t recording_layout_tid(const struct recording_layout *layout);

/* Room for any record of one size. */
union recording_laid_out {
	struct wire_header header;
	struct wire_session session;
	struct wire_interval interval;
	struct wire_thread thread;
	struct wire_delays delays;
	struct wire_child child;
	struct wire_missing missing;
	struct wire_reason reason;
	struct wire_worker worker;
	struct wire_stall stall;
	struct wire_sample sample;
	struct wire_runtime runtime;
	struct wire_polls polls;
};

/*
 * The record as ours: itself where nothing is different, else in `room`. One that does not have the
 * size of its layout is returned as it is; the check of sizes refuses it.
 */
const struct wire_header *recording_lay_out(const struct wire_header *record,
					    const struct recording_layout *layout,
					    union recording_laid_out *room);

#endif
