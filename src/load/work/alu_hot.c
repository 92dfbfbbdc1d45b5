// SPDX-License-Identifier: GPL-2.0-or-later
/* Integer arithmetic without pause, and what each round of it costs. */
#include "load/work/alu.h"
#include "load/work_type.h"

#define UNITS 1024

static void iterate(struct worker *worker)
{
	uint64_t began_ns = clock_monotonic_ns();

	alu_chain(worker, UNITS);
	worker_sample(worker, SAMPLES_COST, clock_monotonic_ns() - began_ns);
}

const struct work_type work_alu_hot = {
	.name = "alu-hot",
	.summary = "integer arithmetic, and its cost",
	.units_each = UNITS,
	.iterate = iterate,
};
