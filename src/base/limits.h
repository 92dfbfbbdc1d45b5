/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits that dwell was started with (setrlimit(2)), where they are why something failed. */
#ifndef DWELL_BASE_LIMITS_H
#define DWELL_BASE_LIMITS_H

/* What would write beyond the limit of file sizes fails with EFBIG, and ends no process. */
void limits_outlive(void);

/*
 * strerror(3), with the limit that has such an errno, by the name that shells have for it. Valid
 * until the thread calls it again.
 */
const char *limits_strerror(int code);

/* What to do about an errno that a limit has; "": no limit has it. */
const char *limits_fix(int code);

#endif
