/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup that a worker was put into, for types that make others below it. */
#ifndef DWELL_LOAD_WORK_OWN_CGROUP_H
#define DWELL_LOAD_WORK_OWN_CGROUP_H

#include "load/worker.h"

/*
 * Its directory, to be freed. NULL: there is none that this worker could use, which has been
 * reported: a thread, or no cgroup v2.
 */
char *own_cgroup(struct worker *worker);

/* Moves a process (0: the caller) by the file cgroup.procs of a cgroup. 0 or -errno. */
int own_cgroup_move(const char *procs, pid_t pid) must_check;

#endif
