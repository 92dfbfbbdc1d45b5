// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads here and there, past the page cache. */
#include "load/work/io_file.h"
#include "load/work_type.h"

#define UNITS 16

static int begin(struct worker *worker)
{
	return io_begin(worker, IO_READS | IO_DIRECT);
}

static void iterate(struct worker *worker)
{
	for (int i = 0; i < UNITS && !worker_stopping(); i++) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;

		if (!io_read(worker))
			return;
		now_ns = clock_monotonic_ns();
		worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
		worker_look(worker, now_ns);
	}
}

const struct work_type work_io_rand_read = {
	.name = "io-rand-read",
	.summary = "reads random blocks from the disk",
	.params = io_params,
	.params_bytes = sizeof(struct io_params),
	.flags = WORK_FILE | WORK_WAITS,
	.check = io_check_read,
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = io_end,
};
