/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of one name that follow each other, each with the time it begins, UTC: for "a/b.dwell"
 * "a/b.20261127T083000Z.dwell". Only plain files of ours are taken for such, and removed.
 *
 * The order of their names is that in which they were written, also where the clock was set back
 * meanwhile: a new one then goes on from the newest there is, and its name is ahead of the time.
 */
#ifndef DWELL_CAPTURE_ROTATED_FILES_H
#define DWELL_CAPTURE_ROTATED_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* In a directory of `dwell serve --store`, beside what triggers have kept. */
#define ROTATED_STORE	    "dwell.dwell"

#define ROTATED_STAMP_BYTES sizeof("YYYYmmddTHHMMSSZ")
/* Of a name, for the compiler: rotated_name_split() makes sure that it fits NAME_MAX. */
#define ROTATED_NAME_BYTES (2 * NAME_MAX + 2 + (int)ROTATED_STAMP_BYTES)
#define ROTATED_PATH_BYTES (PATH_MAX + ROTATED_NAME_BYTES)

struct rotated_name {
	char directory[PATH_MAX];
	char prefix[NAME_MAX + 1], suffix[NAME_MAX + 1]; /* around the time */
	bool is_read;					 /* only: by whomever they were written */
};

struct rotated_file {
	char stamp[ROTATED_STAMP_BYTES];
	uint64_t bytes;
	uint64_t changed_ns; /* CLOCK_REALTIME; not later than now */
};

/* -EINVAL for what is no name; -ENOTDIR, -EACCES and the like for a directory that is of no use. */
int rotated_name_split(struct rotated_name *ret_name, const char *path,
		       struct error *error) must_check;

/* The same, for files that are only read. -EINVAL: no name, or no directory. */
int rotated_name_read(struct rotated_name *ret_name, const char *path) must_check;

/* Of which name `file` in the directory is one. False: of none. */
bool rotated_name_of(struct rotated_name *ret_name, const char *directory, const char *file);

/* All there are, the oldest first; the caller frees them. 0 or a negative errno. */
int rotated_files_list(const struct rotated_name *name, struct rotated_file **ret_files,
		       size_t *ret_count) must_check;
void rotated_file_remove(const struct rotated_name *name, const char *stamp);

/* So that at most `count` are left. */
void rotated_files_limit(const struct rotated_name *name, size_t count);

/*
 * The name of the next file, which sorts behind all that exist. Two of one second: the later one
 * has the next second.
 */
void rotated_path_new(const struct rotated_name *name, char stamp[ROTATED_STAMP_BYTES],
		      char path[ROTATED_PATH_BYTES]);

void rotated_path(const struct rotated_name *name, const char *stamp,
		  char path[ROTATED_PATH_BYTES]);

#endif
