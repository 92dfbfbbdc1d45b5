/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell blocked` has in hand, and what feeds it: a process, or a recording. */
#ifndef DWELL_COMMAND_BLOCKED_LIVE_H
#define DWELL_COMMAND_BLOCKED_LIVE_H

#include "command/blocked_options.h"
#include "command/blocked_output.h"
#include "command/blocked_tui.h"
#include "model/starvation.h"
#include "session/watch.h"

struct blocked {
	struct blocked_options options;
	struct stalls *stalls;
	struct starvation starvation;
	const struct session_info *session; /* NULL: no interval yet */
	bool polls_elsewhere;	/* some polls were on other stacks than their threads' own */
	struct blocked_tui tui; /* open if that is the format */
	bool quit;		/* by a key */
	struct child child;	/* the command, until it is watched */
	bool has_ended;		/* the process */
	int wait_status;
	struct blocked_program {
		uint64_t device, inode;
	} program;	     /* what the process runs; all zeros: not known */
	bool has_executed;   /* another one, so that there is nothing more to see of it */
	struct watch *watch; /* while it is open */
	struct blocked_output output;
};

/* As audience.record and audience.interval. */
int blocked_take_record(void *data, const struct wire_header *record,
			struct error *error) must_check;
int blocked_take_interval(void *data, struct interval *interval, struct error *error) must_check;

/* Writes what there is to write at the end. */
int blocked_end_output(struct blocked *blocked, struct error *error) must_check;

/* A process, or the command, to its end or the user's. */
int blocked_run_live(struct blocked *blocked, struct error *error) must_check;

#endif
