/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of `dwell guest` for many guests at once. */
#ifndef DWELL_COMMAND_GUEST_MATRIX_OPTIONS_H
#define DWELL_COMMAND_GUEST_MATRIX_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command/result_options.h"
#include "command/watch_options.h"
#include "matrix/matrix.h"

#define GUEST_MATRIX_HANDED_MAX 300

struct guest_matrix_options {
	struct parsing *parsing;
	const char *file; /* NULL: one guest */
	const char *out;  /* of --out; NULL: none */
	uint64_t max_cpus;
	uint64_t jobs; /* 0: by what the machine has */
	bool resume, list;
	struct result_options output;
	const char *alone; /* the first option that is of this kind only */
	struct guest_matrix_handed {
		const char *name, *value;  /* value NULL: it has none */
	} handed[GUEST_MATRIX_HANDED_MAX]; /* options of `dwell guest` for every guest */
	size_t handed_count;
	const char *refused; /* the first option that the file is to say instead */
};

/* As a child of the argp of `dwell guest`, with a struct guest_matrix_options as its input. */
extern const struct argp guest_matrix_argp;

void guest_matrix_options_init(struct guest_matrix_options *options, struct parsing *parsing);

/* An option of `dwell guest` itself, found by its key in its table. */
int guest_matrix_hand_on(struct guest_matrix_options *options, const struct argp_option *table,
			 int key, const char *value, struct error *error) must_check;

/* Whether it is no command line for a single guest. */
bool guest_matrix_asked(const struct guest_matrix_options *options);

/* At the end of the command line. */
int guest_matrix_check(struct guest_matrix_options *options, bool has_command,
		       struct error *error) must_check;

#endif
