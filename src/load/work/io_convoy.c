// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes and reads in turn, past the page cache, then waits for the disk. */
#include "load/work/io_file.h"
#include "load/work_type.h"

#define UNITS 16

static int begin(struct worker *worker)
{
	return io_begin(worker, IO_WRITES | IO_READS | IO_DIRECT);
}

static void iterate(struct worker *worker)
{
	uint64_t began_ns = clock_monotonic_ns();

	for (int i = 0; i < UNITS; i++)
		if (worker_stopping() || !(i % 2 ? io_read(worker) : io_write(worker)))
			return;
	io_sync(worker, began_ns);
}

const struct work_type work_io_convoy = {
	.name = "io-convoy",
	.summary = "writes and reads, then waits for the disk",
	.params = io_params,
	.params_bytes = sizeof(struct io_params),
	.flags = WORK_FILE | WORK_WAITS,
	.check = io_check_write,
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = io_end,
};
