/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cells of `dwell guest --matrix`, from its file and the options given beside it. */
#ifndef DWELL_COMMAND_GUEST_MATRIX_CELLS_H
#define DWELL_COMMAND_GUEST_MATRIX_CELLS_H

#include "command/guest_matrix_options.h"
#include "matrix/matrix.h"

/* From the file to the cells, none of them run. -EINVAL: a mistake in either. */
int guest_matrix_prepare(struct matrix *matrix, const struct guest_matrix_options *options,
			 struct error *error) must_check;

#endif
