/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracing file system, which gives tracepoints their numbers. */
#ifndef DWELL_BASE_TRACEFS_H
#define DWELL_BASE_TRACEFS_H

#include "base/cleanup.h"

/*
 * A descriptor of its root directory: where it is mounted, or else of a mount of our own, which
 * is visible to no other process and ends with the descriptor (fsmount(2); needs CAP_SYS_ADMIN). Or
 * a negative errno: -EACCES or -EPERM without privileges, -ENODEV if the kernel has none.
 */
int tracefs_open(void) must_check;

/* The number of a tracepoint, as `config` of perf_event_open(2); -ENOENT: there is none. */
int tracefs_event(int tracefs, const char *category, const char *name) must_check;

#endif
