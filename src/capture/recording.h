/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a recorder has written: the same records again, checked. */
#ifndef DWELL_CAPTURE_RECORDING_H
#define DWELL_CAPTURE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "capture/sink.h"

struct recording;

/*
 * Looks through the headers of all chunks. -EINVAL with a reason: it is not a recording, or one of
 * a newer major version, another byte order.
 */
int recording_open(struct recording **ret_recording, const char *path,
		   struct error *error) must_check;
void recording_close(struct recording *recording);

/* What is known without unpacking anything. */
struct recording_facts {
	uint64_t chunks;
	uint64_t bytes;		    /* of the file */
	uint64_t raw_bytes;	    /* of the records */
	uint64_t tail_bytes;	    /* after the last whole chunk: cut off while it was written */
	uint64_t damaged_bytes;	    /* between chunks that can be read */
	uint64_t damaged_chunks;    /* found damaged while reading */
	uint64_t dependent_chunks;  /* not damaged, but not readable without those */
	uint64_t first_ns, last_ns; /* ends of the first and last chunk, CLOCK_MONOTONIC */
	uint64_t realtime_ns;	    /* begun */
};
const struct recording_facts *recording_facts(const struct recording *recording);

/*
 * Sends the records of the next chunk, after a WIRE_RESTART where those before it could not be
 * read, and after seeking. 1; 0 at the end; or what the sink refused.
 */
int recording_next(struct recording *recording, struct record_sink sink,
		   struct error *error) must_check;

/* Goes to a chunk from which reading on arrives at `time_ns` with a baseline before it. */
void recording_seek(struct recording *recording, uint64_t time_ns);

/* End of the chunk that recording_next() reads next; 0 = at the end. */
uint64_t recording_next_ns(const struct recording *recording);

#endif
