/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell blocked`. */
#ifndef DWELL_COMMAND_BLOCKED_OPTIONS_H
#define DWELL_COMMAND_BLOCKED_OPTIONS_H

#include "command/result_options.h"
#include "command/watch_options.h"
#include "runtime/runtime.h"
#include "view/blocked.h"
#include "view/blocked_export.h"

struct blocked_options {
	struct watch_options watch;
	struct span_options spans;
	const struct runtime_ops *runtime; /* NULL: whichever is there */
	const char *symbols;		   /* --target; NULL: none */
	struct result_options output;
	enum blocked_rows by; /* of the rows of `output` */
	bool headless;
	int ready_fd; /* to say there that all is attached; -1: none */
	bool no_uprobes;
	bool verbose;
	uint64_t window_ns; /* 0: all the time */
	bool max_stalls_given;
	uint64_t max_stalls, max_stall_ns; /* max_stall_ns 0: no limit */
	const char *record, *from;	   /* files; NULL: none */
	const char *export;		   /* file; NULL: none */
	const struct blocked_export_ops *export_format;
	bool force; /* an existing file is replaced */
};

extern const struct command_line blocked_line;

void blocked_options_init(struct blocked_options *options);

#endif
