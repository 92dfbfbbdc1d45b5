// SPDX-License-Identifier: GPL-2.0-or-later
/* How late timers wake it, as cyclictest measures it. */
#include <errno.h>

#include "load/work_type.h"

#define UNITS 1 /* for each wakeup: who never counts is taken for starved */

struct timer_latency {
	uint64_t interval;
};

static const struct param params[] = {
	PARAM(struct timer_latency, interval, DURATION, "1ms", 1, 0, "from timer to timer"),
	{.name = NULL},
};

struct timer {
	uint64_t due_ns, paused_ns;
};

static int begin(struct worker *worker)
{
	struct timer *timer = malloc(sizeof(*timer));

	if (!timer) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	timer->due_ns = clock_monotonic_ns();
	timer->paused_ns = worker_paused_ns(worker);
	worker->state = timer;
	return 0;
}

/* By a fixed grid: who was late is not given more time, or it would hide what it missed. */
static void iterate(struct worker *worker)
{
	const struct timer_latency *timer_latency = worker->params;
	struct timer *timer = worker->state;

	timer->due_ns += timer_latency->interval + worker_new_pause_ns(worker, &timer->paused_ns);
	if (worker_sleep_until(worker, timer->due_ns))
		worker->work_units += UNITS;
}

static void end(struct worker *worker)
{
	free(worker->state);
}

const struct work_type work_timer_latency = {
	.name = "timer-latency",
	.summary = "how late timers wake it",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct timer_latency),
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
