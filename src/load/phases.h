/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The phases of a run, each measured for itself, so that a change between two of them is judged
 * before and after. What is measured is a phase's hold: while its first ops are carried out (a
 * scheduler is loaded, workers are forked) nothing counts for any phase.
 *
 * CPU time, waits for a CPU and iterations are read here, from the kernel and from the workers'
 * slots, so that a worker that did not run counts too. Migrations, gaps and samples the worker
 * itself keeps apart (struct worker_part).
 */
#ifndef DWELL_LOAD_PHASES_H
#define DWELL_LOAD_PHASES_H

#include "load/run.h"
#include "load/summary.h"

/* A run of one phase is one with what it holds; of more than these none is measured for itself. */
#define PHASES_MEASURED_MOST 100

/* How many phases of that spec are measured: all or 0. */
unsigned int phases_measured(const struct spec *spec);

/* Around the hold of phase `number`, counted from 0. Without memory it is not measured: -ENOMEM. */
int phases_begin(struct run *run, unsigned int number) must_check;
void phases_end(struct run *run);

/* A group that has begun, or is about to be stopped, while a phase holds. */
int phases_join(struct run *run, struct run_group *worker_group) must_check;
void phases_leave(struct run *run, struct run_group *worker_group);

/*
 * The figures of a group in a phase: as summary_make(), of the workers that reported, as far as
 * phases have them; CPU time is that of `schedstats` workers. `workers` is 0 where the group was
 * not in that phase. 0 or -ENOMEM.
 */
int phases_summarize(const struct run_group *worker_group, unsigned int number,
		     struct summary *ret_summary) must_check;

#endif
