/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories that others may change while they are walked. Everything goes by descriptors, and no
 * link is followed: even if files are renamed or exchanged meanwhile, nothing outside of the
 * directory is reached. openat2(2), unlinkat(2).
 */
#ifndef DWELL_BASE_TREE_H
#define DWELL_BASE_TREE_H

#include "base/cleanup.h"

/*
 * Opens the directory `name`, one component, of the directory `parent`. A symbolic link gives
 * -ELOOP or -ENOTDIR, a mount point -EXDEV before its filesystem is asked for anything (before
 * Linux 5.6, or where seccomp refuses openat2: after). The descriptor, or a negative errno.
 */
int tree_open(int parent, const char *name) must_check;

/*
 * Removes all that is in `directory`, and then `name` from `parent`, if it is an empty directory
 * now. Keeps what lies below a mount point or deeper than TREE_DEPTH. 0, or the first negative
 * errno; what can be removed is removed even so.
 */
int tree_remove(int parent, const char *name, int directory) must_check;

#define TREE_DEPTH 64 /* each level costs a descriptor */

#endif
