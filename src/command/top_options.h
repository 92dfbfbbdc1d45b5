/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell top`. */
#ifndef DWELL_COMMAND_TOP_OPTIONS_H
#define DWELL_COMMAND_TOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/target.h"
#include "model/group.h"
#include "view/view.h"

struct top_options {
	struct targets targets;
	char **command; /* NULL = none */
	uint64_t interval_ns;
	uint64_t duration_ns; /* 0 = no end */
	uint64_t count;	      /* 0 = no end */
	const struct view_ops *format;
	const struct field *sort;
	enum grouping by;
	size_t top; /* 0 = all */
	bool show_idle;
};

/*
 * Fills the options; on bad ones prints a line to standard error. Returns EXIT_DONE, or the exit
 * status to end with. Asked for help, it prints that and ends the program.
 */
int top_options_parse(struct top_options *options, int argc, char **argv);

#endif
