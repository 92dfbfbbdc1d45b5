/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the exit status of every command means; a guest hands that of its command on. */
#ifndef DWELL_BASE_EXIT_CODE_H
#define DWELL_BASE_EXIT_CODE_H

enum exit_code {
	EXIT_DONE = 0,	       /* done, checks passed */
	EXIT_NOT_RUN = 1,      /* could not run */
	EXIT_USAGE = 2,	       /* wrong command line */
	EXIT_CHECK_FAILED = 3, /* ran, and a check failed */
	EXIT_INCONCLUSIVE = 4,
};

#endif
