/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest that has ended says of its cell, and what a file of verdicts says of all of them. */
#ifndef DWELL_MATRIX_JUDGE_H
#define DWELL_MATRIX_JUDGE_H

#include <jansson.h>

#include "emit/schema.h"
#include "matrix/matrix.h"

/* How the process of a cell ended, and what it left. */
struct matrix_cell_end {
	int wait_status;
	bool timed_out;
	const char *command;  /* of dwell, that the guest ran */
	const char *result;   /* the file of --result */
	int out_fd, error_fd; /* files */
};

/* The verdict of a cell that was reset. -ENOMEM. */
int matrix_judge(struct matrix_cell *cell, const struct matrix_cell_end *end) must_check;

/*
 * Of an object of --result, or of "guest" in a file of verdicts. What is not as it should be is
 * left out. -ENOMEM.
 */
int matrix_take_guest(struct matrix_guest *guest, const struct schema *schema,
		      const json_t *object) must_check;

#endif
