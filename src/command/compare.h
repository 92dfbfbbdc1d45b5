/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell compare`: what was asked for, and who compares which kind. */
#ifndef DWELL_COMMAND_COMPARE_H
#define DWELL_COMMAND_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "command/command.h"
#include "command/result_options.h"
#include "load/compare.h"

struct compare_options {
	const char *paths[2];
	struct result_options output;
	/* of threads and blocked workers */
	bool worse_given;
	double worse; /* share */
	/* of threads and loads */
	bool all;
	/* of loads */
	bool gates_given, metrics_given;
	struct load_question question;
};

/*
 * Reads both, and prints what they differ in. *ret_code, EXIT_DONE before, becomes another if
 * they differ so that it matters, or nothing can be said; then it has printed why on standard
 * error.
 */
int compare_blocked(const struct compare_options *options, enum exit_code *ret_code,
		    struct error *error) must_check;
int compare_threads(const struct compare_options *options, enum exit_code *ret_code,
		    struct error *error) must_check;
int compare_load(const struct compare_options *options, enum exit_code *ret_code,
		 struct error *error) must_check;

#endif
