/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What many guests came to, for people. */
#ifndef DWELL_MATRIX_TABLE_H
#define DWELL_MATRIX_TABLE_H

#include "base/output.h"
#include "matrix/matrix.h"

/* Which kernel and topology fails under which scheduler, why, and how to run that one alone. */
int matrix_table(struct output *out, const struct matrix *matrix) must_check;

/* "3 pass, 1 died, 2 skipped" */
void matrix_counts(char *into, size_t room, const struct matrix *matrix);

/* Names of topologies. */
void presets_table(struct output *out);

#endif
