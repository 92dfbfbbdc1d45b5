// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes and yields in turn. */
#include <sched.h>

#include "load/work_type.h"

#define UNITS 1024

static void iterate(struct worker *worker)
{
	worker_spin(worker, UNITS);
	sched_yield();
}

const struct work_type work_mixed = {
	.name = "mixed",
	.summary = "computes, then yields",
	.units_each = UNITS,
	.iterate = iterate,
};
