// SPDX-License-Identifier: GPL-2.0-or-later
/* Goes through the nice values. */
#include "load/setup.h"

#define UNITS	 512
#define NICE_MIN (-20)
#define NICE_MAX 19

/* worker->state points to one of these: what may be gone through. */
static const int all = NICE_MIN, unprivileged = 0;

static int begin(struct worker *worker)
{
	char refused[REPORT_TEXT] = "";

	setup_nice(NICE_MIN, refused);
	worker->state = (void *)(*refused ? &unprivileged : &all);
	if (*refused)
		worker_note(worker, "%s: it starts from 0, and may not come back from %d", refused,
			    NICE_MAX);
	return 0;
}

static void iterate(struct worker *worker)
{
	const int *lowest = worker->state;
	uint64_t range = (uint64_t)(NICE_MAX + 1 - *lowest);
	char refused[REPORT_TEXT] = "";

	setup_nice(*lowest + (int)(worker->iterations % range), refused);
	if (*refused)
		worker_note(worker, "%s", refused);
	worker_spin(worker, UNITS);
	worker_yield(worker);
}

/* It is to report as fast as the others do. */
static void end(struct worker *worker)
{
	char refused[REPORT_TEXT] = "";

	(void)worker;
	setup_nice(0, refused);
}

const struct work_type work_nice_sweep = {
	.name = "nice-sweep",
	.summary = "goes through the nice values",
	.flags = WORK_WAITS,
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
