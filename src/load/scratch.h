/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory for the files of the workers, which goes away with the run. */
#ifndef DWELL_LOAD_SCRATCH_H
#define DWELL_LOAD_SCRATCH_H

#include <stddef.h>

#include "base/error.h"

/*
 * Makes one below `parent` (NULL: TMPDIR, else /var/tmp, which is a disk where /tmp may be memory),
 * and removes those that runs left there which were killed together with all that could have tidied
 * up.
 */
int scratch_make(const char *parent, char *ret_path, size_t room, struct error *error) must_check;

/* With all files in it. Quiet: there is nobody to tell. */
void scratch_remove(const char *path);

#endif
