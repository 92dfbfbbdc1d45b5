/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What many guests came to, in formats for programs: docs/formats/json.md. */
#ifndef DWELL_MATRIX_FIELDS_H
#define DWELL_MATRIX_FIELDS_H

#include "emit/emit.h"
#include "matrix/matrix.h"

extern const struct schema matrix_schema, matrix_cell_schema, matrix_check_schema,
	matrix_guest_schema, matrix_figures_schema, matrix_again_schema, matrix_session_schema;

/* The part of it that distinguishes one matrix from another; the row is the matrix. */
extern const struct schema matrix_identity_schema;

/* As emit_result(), of `matrix_schema`; in formats of rows the cells. 0 or -ENOMEM. */
int matrix_emit(const struct emit *emit, const struct matrix *matrix) must_check;

/* One object: what --out writes. 0 or -ENOMEM. */
int matrix_json(struct output *out, const struct matrix *matrix) must_check;

#endif
