/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of waits by reason, which the hooks fill: read whole at each snapshot that finds any. */
#ifndef DWELL_CAPTURE_REASONS_H
#define DWELL_CAPTURE_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/sink.h"

/* All zeros is empty. */
struct reasons {
	int map; /* the caller's */
	/* threads, since reasons were last sent */
	struct reasons_ended {
		uint64_t origin_ns;
		uint32_t tid;
		bool later;
	} * ended;
	size_t ended_count, ended_room;
	size_t next; /* entry of which it is asked whether its thread is there */
	bool refusal_reported;
};

/*
 * Entries for some reasons of each thread of the machine as it is now; `is_machine`: and of those
 * of a whole machine that begin and end between two snapshots.
 */
uint32_t reasons_room(bool is_machine);

/* Its reasons are sent once more, and make room for others. */
void reasons_note_end(struct reasons *reasons, uint32_t tid, uint64_t origin_ns);

/*
 * WIRE_REASON for all there are, of which those of threads that are gone make room, in time, where
 * nothing has said that they ended: the end was lost, or they have another id since an exec. So
 * far `kept` came into the map, and `refused` found no room.
 */
int reasons_send(struct reasons *reasons, uint64_t kept, uint64_t refused, uint64_t instant_ns,
		 struct record_sink sink) must_check;

/* Empties the map, while no hook fills it. */
void reasons_clear(struct reasons *reasons);
void reasons_release(struct reasons *reasons);

#endif
