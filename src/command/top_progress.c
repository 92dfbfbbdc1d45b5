// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top_progress.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/print.h"

#define SOME_NS (2 * NS_PER_S)

static int on_second(void *data, struct error *error)
{
	struct top_progress *progress = data;

	(void)error;
	if (progress->intervals)
		return 0;
	status_line_show(
		&progress->line, "measuring the first interval: %llu of %llu s",
		(unsigned long long)((clock_monotonic_ns() - progress->began_ns) / NS_PER_S),
		(unsigned long long)(progress->interval_ns / NS_PER_S));
	return 0;
}

int top_progress_begin(struct top_progress *progress, struct watch *watch, struct error *error)
{
	*progress = (struct top_progress){.interval_ns = watch->options->interval_ns,
					  .began_ns = clock_monotonic_ns()};
	status_line_begin(&progress->line, true);
	/* a command has the terminal */
	if (!progress->line.shown || watch->options->command || progress->interval_ns < SOME_NS)
		return 0;
	return loop_add_timer(&watch->loop, 0, NS_PER_S, on_second, progress, error);
}

void top_progress_interval(struct top_progress *progress, const struct interval *interval)
{
	status_line_clear(&progress->line);
	progress->intervals++;
	progress->measured_ns += interval->end_ns - interval->start_ns;
	progress->lost += losses_all(&interval->losses);
}

void top_progress_end(struct top_progress *progress)
{
	char length[16];

	status_line_clear(&progress->line);
	if (!progress->line.shown || progress->intervals < 2)
		return;
	duration_format(length, sizeof(length), progress->measured_ns);
	print_text(stderr, "dwell top: %llu intervals, %s, lost %llu\n",
		   (unsigned long long)progress->intervals, length,
		   (unsigned long long)progress->lost);
}
