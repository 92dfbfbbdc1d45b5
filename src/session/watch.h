/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watching live: a source, a timer, signals, the targets' end, and a command that is run. */
#ifndef DWELL_SESSION_WATCH_H
#define DWELL_SESSION_WATCH_H

#include "base/loop.h"
#include "capture/child.h"
#include "capture/recorder.h"
#include "capture/source.h"
#include "capture/target.h"
#include "session/audience.h"

/* What to watch, how long and from which source. */
struct watch_options {
	struct targets targets;
	char **command;		/* NULL = none */
	bool command_to_stderr; /* what it prints, too: standard output has a result for programs */
	uint64_t interval_ns;
	uint64_t first_ns; /* of the first interval, if that is to be shorter; 0: it is not */
	bool interval_given;
	uint64_t duration_ns; /* 0 = no end */
	uint64_t count;	      /* 0 = no end */
	enum source_choice source;
	bool blame;	      /* also because of whom threads waited */
	bool caused;	      /* with it, and with targets: what those made any thread wait */
	bool reasons;	      /* waits by reason, also of a whole machine */
	bool only_lost_blame; /* intervals_keep_lost_blame() */
};

struct watch {
	struct watch_options *options;
	struct audience audience;
	struct recorder *recorder;	       /* NULL: nothing is recorded; not owned */
	const struct span_options *spans;      /* NULL: none */
	const struct profile_options *profile; /* NULL: none */
	struct child child; /* of a command that was prepared, and is a target, already; owned */
	/* the rest is the watch's own; the loop may be given more to wait for, after watch_open()
	 */
	struct loop loop;
	struct source *source;
	struct intervals *intervals;
	uint64_t shown;		 /* intervals */
	uint64_t end_ns;	 /* CLOCK_MONOTONIC; 0: none is set */
	bool interrupted;	 /* once already */
	bool signalled;		 /* a signal has ended it */
	struct error sink_error; /* of the audience or the recorder */
};

#define WATCH_NONE                                                                                 \
	{                                                                                          \
		.child = CHILD_NONE, .loop.epoll_fd = -1                                           \
	}

/* Measuring begins. */
int watch_open(struct watch *watch, struct error *error) must_check;

/* Until everything to watch has ended, the time is over, or a signal came. */
int watch_run(struct watch *watch, struct error *error) must_check;

/* Ends an interval now, unless the one before has ended less than WATCH_FRESH_NS ago. */
#define WATCH_FRESH_NS (500 * 1000000ULL)
int watch_catch_up(struct watch *watch, struct error *error) must_check;

/* Ends it, with the interval up to now. */
int watch_stop(struct watch *watch, struct error *error) must_check;

/* Whether all the processes and threads that were named have ended. */
bool watch_targets_gone(struct watch *watch);

/* A line on standard error about that, where it is why the session ended. */
void watch_report_end(struct watch *watch, const char *program);

/* How the command ended, where that was a failure: it is what was measured. Likewise. */
void watch_report_failure(const struct wire_child *child, const char *program);

/*
 * Where `auto` found less than BPF: one line on standard error that says what is used instead, and
 * what is missing. `program` is the command's name.
 */
void watch_report_source(const struct watch *watch, const char *program);

/* Nothing is measured any more; what has been lives on. */
void watch_close_source(struct watch *watch);

void watch_release(struct watch *watch);

#endif
