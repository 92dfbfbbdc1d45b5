/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another program that measures threads: started, waited for, ended, and what it printed. */
#ifndef DWELL_VERIFY_PEER_TOOL_H
#define DWELL_VERIFY_PEER_TOOL_H

#include <sys/types.h>

#include "base/error.h"
#include "verify/peer_output.h"

struct peer_tool_kind {
	const char *name;
	const char *programs[3]; /* as it is called here or there; NULL ends them */
	const char *arguments[8];
	/* It records into a file, which this one reads then; NULL: what it prints is it. */
	const char *reader[8];
	int (*take)(struct peer_sums *sums, const char *line);
	unsigned int times; /* bits by enum peer_time */
};

extern const struct peer_tool_kind peer_tool_kinds[];
#define PEER_TOOLS 3

struct peer_tool {
	const struct peer_tool_kind *kind;
	pid_t pid;	   /* 0: it does not run */
	int input;	   /* it ends with this descriptor */
	int output, error; /* files in memory */
	int file;	   /* what it records */
	struct error why;  /* it does not run */
};

/* What fails is in `why`. */
void peer_tool_start(struct peer_tool *tool, const struct peer_tool_kind *kind,
		     const char *directory);
/* Until it measures. */
void peer_tool_await(struct peer_tool *tool);
/* Ends it, and adds up what it found. 0 or -ENOMEM. */
int peer_tool_end(struct peer_tool *tool, struct peer_sums *sums) must_check;
void peer_tool_release(struct peer_tool *tool);

#endif
