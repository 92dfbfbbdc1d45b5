/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What many guests came to, as text and as JSON. */
#ifndef DWELL_VIEW_GUEST_H
#define DWELL_VIEW_GUEST_H

#include "emit/emit.h"
#include "guest/boot.h"
#include "guest/matrix.h"

/* Which kernel and topology fails under which scheduler, why, and how to run that one alone. */
int guest_matrix_table(struct output *out, const struct matrix *matrix) must_check;

/* One object: docs/formats/json.md. */
int guest_matrix_json(struct output *out, const struct matrix *matrix) must_check;

/* A guest that has ended. */
struct guest_outcome {
	const struct boot_options *boot;
	const struct boot_result *result;
	const char *scheduler;	    /* command; NULL: none was asked for */
	int code;		    /* exit status of `dwell guest` */
	const struct error *failed; /* text "": nothing */
};

/* The row is a struct guest_outcome. */
extern const struct schema guest_schema;

extern const struct schema guest_matrix_schema, matrix_cell_schema, matrix_check_schema,
	matrix_guest_schema;

/* The part of it that distinguishes one matrix from another; the row is the matrix. */
extern const struct schema guest_matrix_identity_schema;

/* As emit_result(), of `guest_matrix_schema`; in formats of rows the cells. 0 or -ENOMEM. */
int guest_matrix_emit(const struct emit *emit, const struct matrix *matrix) must_check;

/* "3 pass, 1 died, 2 skipped" */
void guest_matrix_counts(char *into, size_t room, const struct matrix *matrix);

/* Names of topologies. */
void guest_presets_table(struct output *out);

#endif
