/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guests come to while others still run, on standard error if that is a terminal. */
#ifndef DWELL_COMMAND_GUEST_MATRIX_PROGRESS_H
#define DWELL_COMMAND_GUEST_MATRIX_PROGRESS_H

#include "command/guest_matrix_process.h"

struct guest_matrix_progress {
	bool shown, drawn;
};

void guest_matrix_progress_init(struct guest_matrix_progress *progress);

/* A row for a cell that has a verdict now. */
void guest_matrix_progress_cell(struct guest_matrix_progress *progress, const struct matrix *matrix,
				const struct matrix_cell *cell);

/* The last line: how many are done, and what runs. */
void guest_matrix_progress_show(struct guest_matrix_progress *progress, const struct matrix *matrix,
				const struct guest_matrix_process *processes, size_t running);

void guest_matrix_progress_clear(struct guest_matrix_progress *progress);

#endif
