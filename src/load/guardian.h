/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaves nothing behind, no matter which process is killed, or which two: a run goes on in a child
 * of a child. The first two are guardians, which only wait, and each of the three can tidy up
 * alone.
 *
 *   a child is killed      its guardian is a subreaper: all that the run forked, however deep and
 * in whatever session, becomes its child now, and is killed a guardian is killed   its child gets
 * SIGTERM: a guardian passes it on, and the run stops its workers and tidies up as ever; what they
 * leave is its own, for it is a subreaper too
 */
#ifndef DWELL_LOAD_GUARDIAN_H
#define DWELL_LOAD_GUARDIAN_H

#include <stdbool.h>

#include "load/scratch.h"

/* What a run makes outside of its own processes, shared by both. */
struct guarded {
	char cgroup[PATH_MAX]; /* directory to remove with all below it; "" = none */
	struct scratch scratch;
	bool traced; /* it may have a trace instance */
	/* of a guardian in between: what went wrong below it; 0: nothing */
	int result;
	struct error error;
};

/*
 * Calls `run` in a process of its own and returns what it returned: an exit code. Signals that
 * would end the guardian are passed on to it, unless they came from the terminal, which signals
 * both. -errno: it could not be started, or it was killed, and what it left has been removed.
 */
int guardian_run(int (*run)(void *data, struct guarded *guarded), void *data,
		 struct error *error) must_check;

/* Kills and reaps all children of this process, and theirs that they leave to it. */
void guardian_kill_all(void);

#endif
