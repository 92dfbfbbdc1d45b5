/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command of a guest, under its scheduler, as init runs it. */
#ifndef DWELL_GUEST_INNER_H
#define DWELL_GUEST_INNER_H

#include "guest/returns.h"

struct inner_orders {
	char **arguments; /* "dwell" and its arguments, or another program and its own; NULL ends */
	const char *directory;
	const char *scheduler; /* its command line; NULL: none */
	bool repro;	       /* it is not to be alarmed */
	struct returns returns;
};

/*
 * Runs the scheduler and the command, passes on what they have to say and signals to the command,
 * and sends the files that it wrote. Its exit status; 128 and the signal that ended it. The host
 * gets that too if it still listens.
 */
int inner_run(const struct inner_orders *orders, int host);

#endif
