// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes, and waits until what it wrote is on the disk. */
#include "load/work/io_file.h"
#include "load/work_type.h"

#define UNITS 16

static int begin(struct worker *worker)
{
	return io_begin(worker, IO_WRITES);
}

static void iterate(struct worker *worker)
{
	uint64_t began_ns;

	for (int i = 0; i < UNITS; i++)
		if (worker_stopping() || !io_write(worker))
			return;
	began_ns = clock_monotonic_ns();
	io_sync(worker, began_ns);
}

const struct work_type work_io_sync_write = {
	.name = "io-sync-write",
	.summary = "writes, and waits for the disk",
	.params = io_params,
	.params_bytes = sizeof(struct io_params),
	.flags = WORK_FILE | WORK_WAITS,
	.check = io_check_write,
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = io_end,
};
