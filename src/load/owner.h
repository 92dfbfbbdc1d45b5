/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of what a run makes outside of its processes, which tell whose they are: its pid,
 * when that process began, and the pid namespace, "dwell-load.PID.START.NAMESPACE", and what comes
 * behind a further point. A later run removes what is of nobody any more.
 */
#ifndef DWELL_LOAD_OWNER_H
#define DWELL_LOAD_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#define OWNER_NAME_BYTES 64

/* Of this process. */
void owner_name(char into[OWNER_NAME_BYTES]);

/* Whether it is such a name, and its process has ended: a pid may be used again, with another
 * start. */
bool owner_is_gone(const char *name);

/* Calls `remove` with the path of each entry of a directory whose owner is gone. */
void owner_sweep(const char *directory, void (*remove)(const char *path));

#endif
