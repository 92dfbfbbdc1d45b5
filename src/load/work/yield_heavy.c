// SPDX-License-Identifier: GPL-2.0-or-later
/* Nearly nothing but sched_yield(): the cost of a scheduling decision. */
#include <sched.h>

#include "load/work_type.h"

static void iterate(struct worker *worker)
{
	worker->work_units++;
	sched_yield();
}

const struct work_type work_yield_heavy = {
	.name = "yield-heavy",
	.summary = "yields after each unit of work",
	.units_each = 1,
	.iterate = iterate,
};
