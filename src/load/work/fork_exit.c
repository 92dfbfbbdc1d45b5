// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes a child that ends at once, and waits for it. */
#include "load/work/child.h"
#include "load/work_type.h"

static void iterate(struct worker *worker)
{
	pid_t child = child_fork(worker);

	if (child > 0 && child_await(worker, child))
		worker->work_units++;
}

const struct work_type work_fork_exit = {
	.name = "fork-exit",
	.summary = "forks children that exit at once",
	.flags = WORK_FORKS | WORK_WAITS,
	.units_each = 1,
	.iterate = iterate,
};
