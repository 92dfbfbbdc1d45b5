/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a recording that a user names is in. */
#ifndef DWELL_CAPTURE_RECORDING_PATHS_H
#define DWELL_CAPTURE_RECORDING_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* All zeros is none. */
struct recording_paths {
	char **items;
	size_t count, room;
	bool are_found; /* all of them, rather than named */
};

/*
 * Adds a file; the files of a rotation, of which `path` is the name without the time; or all
 * of a directory, which has those of one rotation, or of `dwell serve`. -EINVAL: it has none, or of
 * several.
 */
int recording_paths_add(struct recording_paths *paths, const char *path,
			struct error *error) must_check;

/* Whether a path that is not a file stands for files of a rotation. */
bool recording_paths_are(const char *path);
void recording_paths_release(struct recording_paths *paths);

#endif
