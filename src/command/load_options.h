/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell load`: a spec, or groups of workers one by one; and what to do with
 * them. */
#ifndef DWELL_COMMAND_LOAD_OPTIONS_H
#define DWELL_COMMAND_LOAD_OPTIONS_H

#include <stdbool.h>

#include "command/load_given.h"
#include "command/result_options.h"
#include "load/compare.h"
#include "load/spec.h"

enum load_action {
	LOAD_RUN,
	LOAD_AB,    /* run two specs by turns, and compare them */
	LOAD_SWEEP, /* run one at several values of a number of it */
	LOAD_LIST,  /* print types, scenarios and checks, or one of them */
	LOAD_PRINT, /* a scenario's spec, to start from */
};

/* Of --ab. */
struct ab_options {
	const char *other;  /* the second spec; the first is that of any run */
	uint64_t pairs;	    /* 0: by `budget_ns`, or the default */
	uint64_t budget_ns; /* 0: by `pairs` */
	struct load_question question;
	bool question_given, gate_given;
	bool all; /* in the table: metrics that did not change, too */
};

/* Of --sweep. */
struct sweep_options {
	const char *what; /* NAME=FROM..TO[:STEPS] */
	uint64_t rounds;  /* 0: the default */
};

struct load_options {
	struct spec spec;
	enum load_action action;
	bool dry_run;	     /* print the plan of it */
	const char *subject; /* of LIST and PRINT; NULL: all */
	struct result_options output;
	bool samples; /* in JSON */
	bool workers; /* in the table */
	bool observe;
	bool quiet; /* no display of the progress */
	bool repro;
	bool no_time_ops;
	pid_t scheduler_pid;
	const char *save;  /* a directory for directories of runs; NULL: nothing is kept */
	const char *trace; /* a file; NULL: with the rest that is kept */
	const char *cgroup_root, *scratch;
	struct load_given given; /* what it adds to the spec */
	struct ab_options ab;
	struct sweep_options sweep;
};

extern const struct command_line load_line;

/* EXIT_DONE, or the exit status to end with: the mistake has been printed. */
int load_options_parse(struct load_options *options, int argc, char **argv);

#endif
