/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this machine and these privileges allow, one thing at a time, for `dwell doctor`. */
#ifndef DWELL_CAPTURE_CHECKS_H
#define DWELL_CAPTURE_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

enum check_status {
	CHECK_OK,
	CHECK_DEGRADED, /* something shows less than it could */
	CHECK_MISSING,	/* something cannot be done */
};

struct diagnosis {
	enum check_status status;
	char found[256]; /* what is there */
	char costs[256]; /* what the user does without; empty if ok */
	char fix[256];	 /* a command, or who can do it; empty if ok or nothing can be done */
};

struct check {
	const char *name;
	const char *about;
	void (*run)(struct diagnosis *finding);
	bool decides; /* whether `dwell top` is exact */
};

extern const struct check checks[];
extern const size_t check_count;

#endif
