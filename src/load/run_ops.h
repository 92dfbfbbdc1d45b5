/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The single steps of a run. Used by run.c alone. */
#ifndef DWELL_LOAD_RUN_OPS_H
#define DWELL_LOAD_RUN_OPS_H

#include "load/run.h"

int run_op(struct run *run, const struct spec_op *op, struct error *error) must_check;

/* Makes the cgroup if it has a name, and forks its workers into it; they wait. */
int run_add_cgroup(struct run *run, const struct spec_cgroup *cgroup,
		   struct error *error) must_check;

/* Lets all begin that wait. */
int run_start_groups(struct run *run, struct error *error) must_check;

/* Those of one cgroup; NULL: all. */
void run_stop_groups(struct run *run, const char *cgroup);

/* The workers of all groups are to alarm that scheduler from now on; 0: none. */
void run_set_scheduler(struct run *run, pid_t pid);

/* Until the time has come, the run is to stop, or something failed. */
int run_hold(struct run *run, uint64_t until_ns, struct error *error) must_check;

/* For the report: what was done, and when. */
__attribute__((format(printf, 2, 3))) void run_note(struct run *run, const char *format, ...);

/* The same, and reported at once. */
__attribute__((format(printf, 2, 3))) void run_warn(struct run *run, const char *format, ...);

#endif
