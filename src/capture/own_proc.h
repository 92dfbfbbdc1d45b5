/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the numbers in /proc are those by which this pid namespace knows its processes. */
#ifndef DWELL_CAPTURE_OWN_PROC_H
#define DWELL_CAPTURE_OWN_PROC_H

#include "base/error.h"

#define OWN_PROC "/proc"

/* 0, or a negative errno: nothing is mounted at `path`, or another namespace's; and what to do. */
int own_proc_check(const char *path, struct error *error) must_check;

#endif
