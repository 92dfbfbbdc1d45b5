/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell top`. */
#ifndef DWELL_COMMAND_TOP_OPTIONS_H
#define DWELL_COMMAND_TOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command/result_options.h"
#include "command/watch_options.h"
#include "command/window_options.h"
#include "model/group.h"
#include "view/fields.h"
#include "view/view.h"

struct top_options {
	struct watch_options watch;
	const char *from;		/* a recording; NULL = live */
	struct recording_window window; /* of that */
	const char *record;		/* NULL = no */
	bool force;			/* an existing recording is replaced */
	struct result_options output;
	const struct field *sort;
	bool sort_given, by_given;
	enum grouping by;
	bool show_idle;
	enum blame_side blame; /* asked for; the screen measures it without being asked */
	bool no_blame;	       /* not even there */
};

extern const struct command_line top_line;

/*
 * Fills the options; on bad ones prints a line to standard error. Returns EXIT_DONE, or the exit
 * status to end with. Asked for help, it prints that and ends the program.
 */
int top_options_parse(struct top_options *options, int argc, char **argv);

#endif
