/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command of a guest, under its scheduler, as init runs it. */
#ifndef DWELL_GUEST_AGENT_H
#define DWELL_GUEST_AGENT_H

#include "guest/pulled_files.h"

struct agent_orders {
	char **arguments; /* "dwell" and its arguments, or another program and its own; NULL ends */
	const char *directory;
	const char *scheduler; /* its command line; NULL: none */
	bool repro;	       /* it is not to be alarmed */
	const char *recording; /* what goes on beside the command, as `dwell record`; NULL: not */
	struct pulled_files pulled;
};

/*
 * Runs the scheduler and the command, passes on what they have to say and signals to the command,
 * and sends the files that it wrote. Its exit status; 128 and the signal that ended it. The host
 * gets that too if it still listens.
 */
int agent_run(const struct agent_orders *orders, int host);

#endif
