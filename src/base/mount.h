/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a file system is mounted. */
#ifndef DWELL_BASE_MOUNT_H
#define DWELL_BASE_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The first mount of that type, and with that option if it is not NULL: a controller of cgroup v1.
 * False: there is none, or no room.
 */
bool mount_find(const char *type, const char *option, char *into, size_t room);

#endif
