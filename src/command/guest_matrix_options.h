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
#define GUEST_MATRIX_MERGED_MAX 256

struct guest_matrix_options {
	const char *file;      /* NULL: one guest */
	const char *out;       /* of --out; NULL: none */
	const char *scorecard; /* .md or .html; NULL: none */
	uint64_t max_cpus;
	uint64_t jobs;	      /* 0: by what the machine has */
	size_t shard, shards; /* part of the cells, from 0 on; shards 0: all of them */
	const char *merged[GUEST_MATRIX_MERGED_MAX]; /* files of parts, instead of running */
	size_t merged_count;
	bool no_rerun, resume, list;
	struct result_options output;
	const char *alone; /* the first option that is of this kind only */
	struct guest_matrix_handed {
		const char *name, *value;  /* value NULL: it has none */
	} handed[GUEST_MATRIX_HANDED_MAX]; /* options of `dwell guest` for every guest */
	size_t handed_count;
	const char *refused; /* the first option that the file is to say instead */
};

/* Of a struct guest_matrix_options. */
extern const struct command_option guest_matrix_option_table[];

void guest_matrix_options_init(struct guest_matrix_options *options);

/*
 * Each option of `dwell guest`, those above among them: what is for every guest is handed on to
 * them.
 */
int guest_matrix_note(struct guest_matrix_options *options, const struct command_option *option,
		      const char *value, struct error *error) must_check;

/* Whether it is no command line for a single guest. */
bool guest_matrix_asked(const struct guest_matrix_options *options);

/* At the end of the command line. */
int guest_matrix_check(struct guest_matrix_options *options, bool has_command,
		       struct error *error) must_check;

#endif
