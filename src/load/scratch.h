/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory for the files of the workers, which goes away with the run. */
#ifndef DWELL_LOAD_SCRATCH_H
#define DWELL_LOAD_SCRATCH_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"

/* Its parent may belong to others, who can put something else at its path: files are made and
 * removed by descriptors. */
struct scratch {
	char path[PATH_MAX]; /* for messages, and to find it again; "" = none */
	dev_t device;
	ino_t inode;
	int directory; /* open in the process that made it, and in its workers */
};

/*
 * Makes one below `parent` (NULL: TMPDIR, else /var/tmp, which is a disk where /tmp may be memory),
 * and removes those of this user that runs left there which were killed together with all that
 * could have tidied up.
 */
int scratch_make(struct scratch *scratch, const char *parent, struct error *error) must_check;

/* With all files in it, by any process; nothing if something else is at its path by now. Quiet:
 * there is no one to report it to. */
void scratch_remove(const struct scratch *scratch);

#endif
