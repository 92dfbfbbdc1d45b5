/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that programs under study put in place. dwell opens only plain files that no other user's
 * program serves: a device, a pipe or a terminal may act when it is opened, and such a filesystem
 * may never answer.
 */
#ifndef DWELL_SYMBOL_FOREIGN_H
#define DWELL_SYMBOL_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/*
 * For reading, the file behind `path_fd` (O_PATH), which is closed. `pid`: a process that sees it,
 * or 0. The descriptor or a negative errno; -EACCES if it is no plain file, -EREMOTE if it may
 * never answer.
 */
int foreign_reopen(int path_fd, uint32_t pid) must_check;

/*
 * Whether the file lies on the filesystem of that device (major << 32 | minor), as /proc/PID/maps
 * shows it: stat(2) shows another one for subvolumes of btrfs and layers of overlayfs. `pid`: as
 * above.
 */
bool foreign_is_on(int fd, uint32_t pid, uint64_t device);

/* As openat2(2) with O_PATH, RESOLVE_NO_MAGICLINKS and `resolve`. A descriptor or -errno. */
int foreign_path(int directory, const char *name, uint64_t resolve) must_check;

/* The root directory of the process; 0: our own. A descriptor (O_PATH) or -errno. */
int foreign_root(uint32_t pid) must_check;

/*
 * A file of `directory`, or below it, in the root directory of a process (0: our own), which
 * belongs to root and is for all to read, or belongs to the user of the process: what this user
 * could not read, a program of theirs cannot have us read. `resolve` holds for both ways,
 * `name_resolve` for that from the directory on, which no link may leave. A descriptor or -errno.
 */
int foreign_open_below(uint32_t pid, const char *directory, const char *name, uint64_t resolve,
		       uint64_t name_resolve) must_check;

#endif
