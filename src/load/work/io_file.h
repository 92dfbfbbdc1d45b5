/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file or block device that a type does I/O on: what `path` names, or a private file that has
 * no name, so that nothing is left of it in any case. Each worker writes to a stripe.
 *
 * What fails is noted in the report, counts no unit, and is tried again after a pause.
 */
#ifndef DWELL_LOAD_WORK_IO_FILE_H
#define DWELL_LOAD_WORK_IO_FILE_H

#include "load/params.h"
#include "load/worker.h"

#define IO_BLOCK 4096

struct io_params {
	char *path; /* NULL: a private file */
	uint64_t size;
};

extern const struct param io_params[];

/* What `path` names must be something to do I/O on. Of types that only read, and of others. */
int io_check_read(const void *params, struct error *error) must_check;
int io_check_write(const void *params, struct error *error) must_check;

enum io_use {
	IO_WRITES = 1,
	IO_READS = 2, /* so that a private file must have contents */
	IO_DIRECT = 4,
};

/* Makes worker->state what the functions below use: for begin() and end(). */
int io_begin(struct worker *worker, unsigned int use) must_check;
void io_end(struct worker *worker);

/* One block, and one unit: the next of the stripe; a random one of the whole. False: it failed. */
bool io_write(struct worker *worker);
bool io_read(struct worker *worker);

/* Waits for the disk. Since began_ns the worker has not looked at its clock. */
void io_sync(struct worker *worker, uint64_t began_ns);

/* A new file without a name in worker->scratch. -errno after worker_fail(). */
int io_open_private(struct worker *worker) must_check;

/* An I/O call failed, and errno says why: reports it, and waits a little. */
void io_failed(struct worker *worker, const char *what);

#endif
