/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a person should hear first of an interval: which program lost most time, in what, and
 * because of whom. Few, large and certain, or none.
 */
#ifndef DWELL_MODEL_FINDINGS_H
#define DWELL_MODEL_FINDINGS_H

#include "model/deadlock.h"

#define FINDINGS_MAX   3
#define FINDING_CAUSES 3

struct finding_cause {
	enum wire_culprit_kind kind; /* never unknown or others */
	/* WIRE_CULPRIT_THREAD: a process, processes of a name (pid 0), or a thread of the victim */
	struct blame_party party;
	bool is_own;	    /* the victim's own threads, several of them */
	bool has_meanwhile; /* what it did for most of that time is known: */
	struct wire_wait_site meanwhile;
	uint64_t meanwhile_ns;	  /* of total_ns, in that state */
	struct blame_thief thief; /* where it waited for a CPU: who had that for most of the time */
	uint64_t total_ns;
};

struct finding {
	struct deadlock deadlock; /* of the victim's threads; count 0: none, but the rest */
	/* a process; a thread (tid) where only one lost time; processes of a name (pid 0) */
	struct blame_party victim;
	uint32_t processes; /* whose time is in total_ns */
	uint32_t threads;   /* likewise */
	enum state state;
	bool is_released;   /* STATE_LOCK: who ended such waits need not have had the lock */
	uint64_t total_ns;  /* that they lost */
	uint64_t active_ns; /* of the victim, this included */
	struct finding_cause causes[FINDING_CAUSES]; /* the largest first; each 10 % or more */
	size_t cause_count;
};

struct findings {
	struct finding items[FINDINGS_MAX]; /* a deadlock, then the largest */
	size_t count;
};

/*
 * Of an interval by thread; its blame may be by thread or by process. Processes of a name, or
 * threads of a process, are one victim where no one of them has 90 % of the loss. A finding is 10 %
 * or more of the active time of the process, or of all of a name, and 5 % or more of the interval.
 * 0 or -ENOMEM.
 */
int findings_find(struct findings *ret_findings, const struct interval *interval) must_check;

/* Comes first. Of an interval by thread findings_find() has done that. */
void findings_put_deadlock(struct findings *findings, const struct deadlock *deadlock);

#endif
