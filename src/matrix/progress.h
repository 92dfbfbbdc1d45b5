/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guests come to while others still run, on standard error if that is a terminal. */
#ifndef DWELL_MATRIX_PROGRESS_H
#define DWELL_MATRIX_PROGRESS_H

#include "matrix/process.h"

struct matrix_progress {
	bool shown, drawn;
};

void matrix_progress_init(struct matrix_progress *progress);

/* A row for a cell that has a verdict now. */
void matrix_progress_cell(struct matrix_progress *progress, const struct matrix *matrix,
			  const struct matrix_cell *cell);

/* The last line: how many are done, and what runs. */
void matrix_progress_show(struct matrix_progress *progress, const struct matrix *matrix,
			  const struct matrix_process *processes, size_t running);

void matrix_progress_clear(struct matrix_progress *progress);

#endif
