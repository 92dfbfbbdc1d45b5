// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_progress.h"

#include "base/clock.h"
#include "base/duration.h"

#define BAR_COLUMNS 24
#define SMOOTHING   0.3 /* share of the latest rate */

void load_progress_init(struct load_progress *progress, bool quiet)
{
	*progress = (struct load_progress){.drawn_ns = 0};
	status_line_begin(&progress->line, !quiet);
}

static void update_rate(struct load_progress *progress, const struct run *run, uint64_t now_ns)
{
	uint64_t iterations = run_iterations(run);
	double seconds = (double)(now_ns - progress->drawn_ns) / 1e9;
	double rate;

	if (progress->drawn_ns && seconds > 0) {
		rate = (double)(iterations - progress->iterations) / seconds;
		progress->rate += progress->rate > 0 ? SMOOTHING * (rate - progress->rate) : rate;
	}
	progress->drawn_ns = now_ns;
	progress->iterations = iterations;
}

static unsigned int running(const struct run *run)
{
	unsigned int count = 0;

	for (size_t i = 0; i < run->worker_group_count; i++)
		if (!run->worker_groups[i]->worker_group.over)
			count += run->worker_groups[i]->worker_group.forked;
	return count;
}

void load_progress_show(struct load_progress *progress, const struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t elapsed_ns = now_ns - run->started_ns;
	double share = run->hold_ns ? (double)elapsed_ns / (double)run->hold_ns : 1;
	int full = (int)(BAR_COLUMNS * (share > 1 ? 1 : share));
	char elapsed[16], whole[16], bar[BAR_COLUMNS + 1];

	if (!progress->line.shown)
		return;
	update_rate(progress, run, now_ns);
	for (int i = 0; i < BAR_COLUMNS; i++)
		bar[i] = i < full ? '#' : '.';
	bar[BAR_COLUMNS] = '\0';
	duration_format(elapsed, sizeof(elapsed), elapsed_ns);
	duration_format(whole, sizeof(whole), run->hold_ns);
	status_line_show(&progress->line, "%s [%s] %s of %s  %u workers  %.3g iterations/s%s%s",
			 run->spec->name, bar, elapsed, whole, running(run), progress->rate,
			 run->phase ? "  " : "", run->phase ? run->phase : "");
}
