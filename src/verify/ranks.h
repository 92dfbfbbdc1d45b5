/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors, absolute and in percent of a thread's wall time, by their ranks. */
#ifndef DWELL_VERIFY_RANKS_H
#define DWELL_VERIFY_RANKS_H

#include <stddef.h>

/* All zeros is empty. */
struct ranks {
	double *errors; /* sorted by ranks_end() */
	size_t count, room;
	/* by ranks_end(); NAN: there are none */
	double p50, p99, worst;
	const char *worst_pattern; /* NULL: there are none */
};

/* `pattern` must outlive the ranks. 0 or -ENOMEM. */
int ranks_add(struct ranks *ranks, double error, const char *pattern);
void ranks_end(struct ranks *ranks);
void ranks_release(struct ranks *ranks);

#endif
