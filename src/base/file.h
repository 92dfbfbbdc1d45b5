/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files written whole. */
#ifndef DWELL_BASE_FILE_H
#define DWELL_BASE_FILE_H

#include <stddef.h>

#include "base/error.h"

/* All of it; -errno. */
int file_write(int fd, const void *bytes, size_t length) must_check;

/*
 * The file is as it was before or has all of `bytes`, on the disk, whatever ends us meanwhile:
 * PATH.partial is written and renamed. What is there and is no plain file, as a pipe, /dev/null or
 * a link, stays what it is, and is written to.
 */
int file_replace(const char *path, const char *bytes, size_t length,
		 struct error *error) must_check;

#endif
