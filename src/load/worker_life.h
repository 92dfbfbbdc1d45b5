/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker's life in its own process or thread, from the fork to the end of its report. */
#ifndef DWELL_LOAD_WORKER_LIFE_H
#define DWELL_LOAD_WORKER_LIFE_H

#include "load/plan.h"

#define WORKER_START_S 30 /* to wait for the start */

/*
 * At the latest so long after the last look, the end of an iteration is one, checkpoint or not: the
 * gaps that it reports are those of the scheduler, not those between checkpoints.
 */
#define WORKER_LOOK_NS 10000000ULL

/* Everything a worker gets before it begins. */
struct worker_life {
	const struct plan_group *group;
	unsigned int number;	/* in its group; its team and position follow */
	const struct cpus *pin; /* NULL: not at all */
	struct worker worker;	/* filled but for what worker_live() finds out */
	int start_fd;		/* one byte: begin; end of file: give up */
	int report_fd;
};

/*
 * In a process of its own: dies with `parent`, leads its own process group, and keeps of the
 * descriptors only its own. -errno: it must not begin.
 */
int worker_enter(struct worker_life *worker_lives, unsigned int count, pid_t parent) must_check;

/* Waits for the start, sets itself up, works until stopped, and reports. 0, or -errno: no start. */
int worker_live(struct worker_life *worker_life) must_check;

#endif
