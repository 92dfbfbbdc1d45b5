/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of a cell: this same program, for one guest. */
#ifndef DWELL_COMMAND_GUEST_MATRIX_PROCESS_H
#define DWELL_COMMAND_GUEST_MATRIX_PROCESS_H

#include <limits.h>
#include <sys/types.h>

#include "guest/matrix.h"

struct guest_matrix_process {
	pid_t pid; /* 0: none */
	struct matrix_cell *cell;
	const char *command; /* not owned: the matrix's */
	uint64_t started_ns;
	uint64_t told_ns; /* to end; 0: not yet */
	bool timed_out;
	int out_fd, error_fd; /* files in memory, of what it prints */
	char result[PATH_MAX], dump[PATH_MAX];
};

/* What it leaves of files lies in `directory` until it is reaped. It dies with us. */
int guest_matrix_process_start(struct guest_matrix_process *process, const struct matrix *matrix,
			       struct matrix_cell *cell, const char *directory,
			       struct error *error) must_check;

/* SIGTERM, at the second time SIGKILL: its guest ends with it either way. */
void guest_matrix_process_end(struct guest_matrix_process *process);

/*
 * If it has ended (*ret_ended): reaps it, and judges its cell; one that was told to end, but for
 * its time, has no verdict.
 */
int guest_matrix_process_reap(struct guest_matrix_process *process, bool *ret_ended,
			      struct error *error) must_check;

/* Kills and reaps what still runs. */
void guest_matrix_process_release(struct guest_matrix_process *process);

#endif
