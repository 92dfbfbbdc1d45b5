/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file of a recording: when it was written, and where its chunks are. */
#ifndef DWELL_CAPTURE_RECORDING_FILE_H
#define DWELL_CAPTURE_RECORDING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "capture/recording_layout.h"

struct recording_chunk {
	const struct recording_file *file; /* set by who has several */
	uint64_t offset;		   /* of its header */
	uint64_t time_ns, realtime_ns;
	uint32_t stored_bytes, raw_bytes, stored_crc;
	bool key;
	bool orphan;  /* it refers to a chunk that is damaged */
	bool counted; /* among those that could not be read */
};

struct recording_file {
	int fd;
	char *path;
	const struct recording_layout *layout; /* until the file says its own */
	uint64_t bytes;
	uint64_t begun_realtime_ns;
	uint64_t damaged_bytes; /* between chunks that can be read */
	uint64_t tail_bytes;	/* after the last whole chunk: cut off while it was written */
	struct recording_chunk *chunks; /* one at least, in the order of time */
	size_t chunk_count, chunk_room;
};

/*
 * Looks through the headers of all chunks. -EINVAL with a reason: it is not a recording, or one of
 * a newer major version, another byte order.
 * -ENOENT: it is not there; -ENODATA: it has no whole interval..
 */
int recording_file_open(struct recording_file *file, const char *path,
			struct error *error) must_check;
void recording_file_release(struct recording_file *file);

/* False: there are not so many bytes, or they cannot be read. */
bool recording_file_read(const struct recording_file *file, void *into, size_t length,
			 uint64_t offset);

#endif
