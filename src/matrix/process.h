/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of a cell: this same program, for one guest. */
#ifndef DWELL_MATRIX_PROCESS_H
#define DWELL_MATRIX_PROCESS_H

#include <sys/types.h>

#include "matrix/matrix.h"

#define MATRIX_PROCESS_PATH 40 /* "/proc/PID/fd/N" */

/* What is run, with the arguments of a guest: this program. Tests have another. */
extern const char *matrix_program;

struct matrix_process {
	pid_t pid; /* 0: none */
	struct matrix_cell *cell;
	const char *command; /* not owned: the matrix's */
	uint64_t started_ns;
	uint64_t terminated_ns; /* to end; 0: not yet */
	bool timed_out;
	bool again;		 /* it had failed; what it comes to now is another verdict */
	uint64_t timeout_ns;	 /* it may take */
	char *trace, *recording; /* files of `again` */
	/* files in memory: what it prints, its result, and the dump of its scheduler */
	int out_fd, error_fd, result_fd, dump_fd;
	char result[MATRIX_PROCESS_PATH], dump[MATRIX_PROCESS_PATH]; /* their names */
};

/*
 * It dies with us. `again` is the beginning of the names of files, for a cell that has failed: it
 * gets a recording beside it, and a trace of its failure; NULL: its first run.
 */
int matrix_process_start(struct matrix_process *process, const struct matrix *matrix,
			 struct matrix_cell *cell, const char *again,
			 struct error *error) must_check;

/* SIGTERM, at the second time SIGKILL: its guest ends with it either way. */
void matrix_process_end(struct matrix_process *process);

/*
 * If it has ended (*ret_ended): reaps it, and judges its cell; one that we ended, but for
 * its time, has no verdict.
 */
int matrix_process_reap(struct matrix_process *process, bool *ret_ended,
			struct error *error) must_check;

/* Kills and reaps what still runs. */
void matrix_process_release(struct matrix_process *process);

#endif
