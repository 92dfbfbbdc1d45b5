/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a matrix: dwell-guest(1). */
#ifndef DWELL_MATRIX_YAML_H
#define DWELL_MATRIX_YAML_H

#include "matrix/matrix.h"

/*
 * Into an initialised matrix; what was read before a mistake stays in it, to be released. Files
 * that it names must be there. Errors name the line.
 */
int matrix_read_text(struct matrix *matrix, const char *text, const char *name,
		     struct error *error) must_check;

/* "-" is standard input. */
int matrix_read_file(struct matrix *matrix, const char *path, struct error *error) must_check;

#endif
