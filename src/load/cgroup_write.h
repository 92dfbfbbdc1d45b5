/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing to a file of a cgroup, which the kernel may hold up, within a bounded time. */
#ifndef DWELL_LOAD_CGROUP_WRITE_H
#define DWELL_LOAD_CGROUP_WRITE_H

#include "base/error.h"

/*
 * Writes `text` in one write(2). -ETIMEDOUT after 2 s: the write goes on in a thread of its own,
 * and no one waits for it any more. Other errors are the kernel's.
 */
int cgroup_write(const char *path, const char *text, struct error *error) must_check;

#endif
