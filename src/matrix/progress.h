/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guests come to while others still run, on standard error if that is a terminal. */
#ifndef DWELL_MATRIX_PROGRESS_H
#define DWELL_MATRIX_PROGRESS_H

#include "base/status_line.h"
#include "matrix/process.h"

/* A row for a cell that has a verdict now. */
void matrix_progress_cell(struct status_line *progress, const struct matrix *matrix,
			  const struct matrix_cell *cell);

/* The last line: how many are done, and what runs. */
void matrix_progress_show(struct status_line *progress, const struct matrix *matrix,
			  const struct matrix_process *processes, size_t running);

#endif
