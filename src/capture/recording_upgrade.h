/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of recordings of major version 1, as today's. docs/formats/recording.md, "Versions". */
#ifndef DWELL_CAPTURE_RECORDING_UPGRADE_H
#define DWELL_CAPTURE_RECORDING_UPGRADE_H

#include "bpf/wire.h"

/* A thread's record there. */
#define RECORDING_1_THREAD_BYTES 392
#define RECORDING_1_THREAD_TID	 328 /* offset */

/* Room for the largest record that changes. */
union recording_upgraded {
	struct wire_header header;
	struct wire_thread thread;
	struct wire_stall stall;
	struct wire_interval interval;
	struct wire_worker worker;
};

/*
 * The record as today's: itself where its kind has not changed, else in `room`. A record that does
 * not have its old size is returned as it is; the check of sizes refuses it.
 */
const struct wire_header *recording_upgrade_1(const struct wire_header *record,
					      union recording_upgraded *room);

#endif
