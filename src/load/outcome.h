/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run that is over, ready to be shown: figures, check_results, and where it was. */
#ifndef DWELL_LOAD_OUTCOME_H
#define DWELL_LOAD_OUTCOME_H

#include "load/checks.h"
#include "load/machine.h"

#define OUTCOME_STATES 16 /* room for the states of a thread: model/state.h */

/* What `--observe` saw of a worker, from outside. */
struct observed {
	bool measured;
	uint64_t observed_ns;
	uint64_t states_ns[OUTCOME_STATES];
};

struct blame;

struct outcome {
	const struct run *run;
	struct machine machine;
	struct summary *summaries; /* one per group */
	/* of each group one for each cache, or node */
	struct summary_place *llcs, *nodes;
	struct summary *phase_summaries; /* of run->held, one per group each */
	struct check_results check_results;
	struct observed *observed; /* by the worker's number in the run; NULL: without --observe */
	uint64_t observed_lost;	   /* records that the observer missed: its figures are short */
	uint32_t observed_states;  /* measured: 1 << index of states_ns */
	/* because of whom the workers waited, by group (model/blame_workers.h) */
	bool has_blame;
	struct blame *blames;
	size_t blame_count;
	char *trace;		  /* a file with what threads did around the failure; NULL: none */
	struct pressure pressure; /* what others did meanwhile */
	bool has_steal_clock;	  /* else nothing is stolen, or nothing of it is known */
};

/* Of a run that run_execute() carried out; it must outlive the outcome. 0 or -ENOMEM. */
int outcome_make(struct outcome *outcome, const struct run *run,
		 const struct machine *machine) must_check;
void outcome_release(struct outcome *outcome);

#endif
