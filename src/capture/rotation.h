/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording without end, in files that follow each other: each begins with the snapshot that the
 * one before ended with, so that no interval is missing and none is there twice. The oldest files
 * are removed.
 */
#ifndef DWELL_CAPTURE_ROTATION_H
#define DWELL_CAPTURE_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"

/*
 * Files for `path` are named by the time they begin, UTC, before the last suffix: for "a/b.dwell"
 * "a/b.20261127T083000Z.dwell". Those of earlier runs count, too.
 */
struct rotation_options {
	const char *path;
	uint64_t file_ns;   /* a file's length; 0: by size alone */
	uint64_t keep_ns;   /* files that ended so long ago are removed; 0: none for that */
	uint64_t max_bytes; /* all files together, at most; 0: no limit */
	bool fits_disk;	    /* a file has a part of the room that the disk has for all, at most */
};

struct rotation;

/* A file is begun by the first record. */
int rotation_open(struct rotation **ret_rotation, const struct rotation_options *options,
		  struct error *error) must_check;
void rotation_close(struct rotation *rotation); /* takes NULL */

/*
 * As recorder_record(). After a failure the next interval begins another file. On a full disk the
 * oldest makes room for it, if it is a quarter of all at most; another one follows only when as
 * much has been recorded in its place. Else nothing is recorded until there is room. On a disk that
 * has been full once, the oldest goes before it is full again.
 */
int rotation_record(struct rotation *rotation, const struct wire_header *record,
		    struct error *error) must_check;

/* The present file, or the one before it until that has an interval; NULL: none yet. */
const char *rotation_path(const struct rotation *rotation);

/* All files that there are now. */
uint64_t rotation_bytes(const struct rotation *rotation);
uint64_t rotation_files(const struct rotation *rotation);

#endif
