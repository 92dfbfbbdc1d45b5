/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a program is, by its name. */
#ifndef DWELL_BASE_PROGRAM_H
#define DWELL_BASE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* A file that may be executed, as execvp(3) finds it: in PATH, or by a name with a slash. */
bool program_find(const char *name, char into[PATH_MAX]);

#endif
