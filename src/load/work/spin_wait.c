// SPDX-License-Identifier: GPL-2.0-or-later
/* Pure computation, without a system call. */
#include "load/work_type.h"

#define UNITS 1024

static void iterate(struct worker *worker)
{
	worker_spin(worker, UNITS);
}

const struct work_type work_spin_wait = {
	.name = "spin-wait",
	.summary = "computes without pause",
	.units_each = UNITS,
	.iterate = iterate,
};
