// SPDX-License-Identifier: GPL-2.0-or-later
/* Nearly nothing but sched_yield(): the cost of a scheduling decision. */
#include <sched.h>

#include "load/work_type.h"

static uint64_t units(const void *params, unsigned int position)
{
	(void)params;
	(void)position;
	return 1;
}

static void iterate(struct worker *worker)
{
	worker->work_units++;
	sched_yield();
}

const struct work_type work_yield_heavy = {
	.name = "yield-heavy",
	.summary = "yields after each unit of work",
	.units = units,
	.iterate = iterate,
};
