/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a recorder has written: the same records again, checked. */
#ifndef DWELL_CAPTURE_RECORDING_H
#define DWELL_CAPTURE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/moment.h"
#include "capture/sink.h"

struct recording;

/* None: from the beginning, to the end. */
struct recording_window {
	struct moment since, until;
};

/* Of files that follow each other: recording_paths.h says what a path may be. */
struct recording_choice {
	const char *const *paths;
	size_t count;
	struct recording_window window;
};

/*
 * Looks through the headers of all chunks. -EINVAL with a reason: it is not a recording, or one of
 * a newer major version, another byte order; files that do not follow each other.
 */
int recording_open(struct recording **ret_recording, const struct recording_choice *choice,
		   struct error *error) must_check;

static inline must_check int recording_open_path(struct recording **ret_recording, const char *path,
						 struct error *error)
{
	return recording_open(ret_recording, &(struct recording_choice){.paths = &path, .count = 1},
			      error);
}

void recording_close(struct recording *recording);

/* What is known without unpacking anything. */
struct recording_facts {
	uint64_t files, chunks;
	uint64_t bytes;		    /* of the files */
	uint64_t raw_bytes;	    /* of the records */
	uint64_t tail_bytes;	    /* after the last whole chunk: cut off while it was written */
	uint64_t damaged_bytes;	    /* between chunks that can be read */
	uint64_t damaged_chunks;    /* found damaged while reading */
	uint64_t dependent_chunks;  /* not damaged, but not readable without those */
	uint64_t first_ns, last_ns; /* ends of the first and last chunk, CLOCK_MONOTONIC */
	uint64_t realtime_ns;	    /* begun */
	uint64_t older_files;	    /* of a rotation, left out: they are of another boot */
	/* What was chosen; 0: all. Intervals around are sent, too. */
	uint64_t since_realtime_ns, until_realtime_ns;
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
