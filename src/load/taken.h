/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What others took of the CPUs that a group of workers may use: where those are few of many, that
 * is little of the machine and may be all of theirs.
 */
#ifndef DWELL_LOAD_TAKEN_H
#define DWELL_LOAD_TAKEN_H

#include "base/pressure.h"
#include "load/run.h"

struct taken {
	double share; /* of the CPUs' time, 0 to 1 */
	double ns;    /* the same as CPU time */
	bool of_own;  /* of the CPUs of the group alone, else of all */
};

/* The larger share of the two: of all CPUs, and of the group's. */
struct taken taken_from(const struct run *run, const struct run_group *worker_group,
			const struct pressure *pressure);

#endif
