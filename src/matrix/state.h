/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of --out: what a matrix has come to so far, to be gone on with. */
#ifndef DWELL_MATRIX_STATE_H
#define DWELL_MATRIX_STATE_H

#include "matrix/matrix.h"

/*
 * Takes the verdicts of a file over that is of the same matrix. Errors are not: what could not be
 * run then may be now. Nor are those of cells whose files are others now: *ret_changed of them.
 * Without the file there are none.
 */
int matrix_state_read(struct matrix *matrix, const char *path, size_t *ret_changed,
		      struct error *error) must_check;

/*
 * What another process has run of the same matrix (--shard), errors too. -EINVAL: it is of another
 * matrix or of other files, or has what we have already.
 */
int matrix_state_merge(struct matrix *matrix, const char *path, struct error *error) must_check;

int matrix_state_write(const struct matrix *matrix, const char *path,
		       struct error *error) must_check;

#endif
