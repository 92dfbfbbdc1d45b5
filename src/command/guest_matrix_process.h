/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of a cell: this same program, for one guest. */
#ifndef DWELL_COMMAND_GUEST_MATRIX_PROCESS_H
#define DWELL_COMMAND_GUEST_MATRIX_PROCESS_H

#include <sys/types.h>

#include "guest/matrix.h"

#define GUEST_MATRIX_PATH 40 /* "/proc/PID/fd/N" */

/* What is run, with the arguments of a guest: this program. Tests have another. */
extern const char *guest_matrix_program;

struct guest_matrix_process {
	pid_t pid; /* 0: none */
	struct matrix_cell *cell;
	const char *command; /* not owned: the matrix's */
	uint64_t started_ns;
	uint64_t told_ns; /* to end; 0: not yet */
	bool timed_out;
	/* files in memory: what it prints, its result, and the dump of its scheduler */
	int out_fd, error_fd, result_fd, dump_fd;
	char result[GUEST_MATRIX_PATH], dump[GUEST_MATRIX_PATH]; /* their names */
};

/* It dies with us. */
int guest_matrix_process_start(struct guest_matrix_process *process, const struct matrix *matrix,
			       struct matrix_cell *cell, struct error *error) must_check;

/* SIGTERM, at the second time SIGKILL: its guest ends with it either way. */
void guest_matrix_process_end(struct guest_matrix_process *process);

/*
 * If it has ended (*ret_ended): reaps it, and judges its cell; one that we ended, but for
 * its time, has no verdict.
 */
int guest_matrix_process_reap(struct guest_matrix_process *process, bool *ret_ended,
			      struct error *error) must_check;

/* Kills and reaps what still runs. */
void guest_matrix_process_release(struct guest_matrix_process *process);

#endif
