// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "base/duration.h"
#include "base/text.h"
#include "view/sweep.h"

#define VALUE_COLUMNS 10
#define NAME_COLUMNS  26

static void write_head(struct output *out, const struct sweep *sweep,
		       const struct sweep_course *course)
{
	static const char *const ends[] = {
		[SWEEP_COMPLETE] = "complete",
		[SWEEP_INTERRUPTED] = "interrupted",
		[SWEEP_FAILED] = "then runs failed",
	};
	char elapsed[16], first[32], last[32], name[SPEC_NAME_BYTES * 2];
	unsigned int voided = 0;

	for (size_t i = 0; i < sweep->count; i++)
		voided += sweep->steps[i].voided;
	duration_format(elapsed, sizeof(elapsed), course->elapsed_ns);
	sweep_format(first, sizeof(first), sweep, 0);
	sweep_format(last, sizeof(last), sweep, sweep->count - 1);
	text_printable(name, sizeof(name), course->spec, sizeof(name) - 1);
	output_format(out, "dwell load  %s  %s from %s to %s in %zu steps\n", name, sweep->name,
		      first, last, sweep->count);
	output_format(out, "%u run%s of %u for each step, by lot, seed %llu, in %s: %s",
		      course->runs, course->runs == 1 ? "" : "s", course->rounds_wanted,
		      (unsigned long long)course->seed, elapsed, ends[course->end]);
	if (voided)
		output_format(out, "; %u more could not be run", voided);
	output_char(out, '\n');
	if (sweep->has_background)
		output_format(out, "the load is that of workers beside the spec: %u open-loop\n",
			      sweep->cpus);
	output_char(out, '\n');
}

static void write_share(struct output *out, double share)
{
	if (isnan(share))
		output_format(out, " %6s", "-");
	else
		output_format(out, " %6.1f", 100 * share);
}

static void write_metric(struct output *out, const struct sweep_step *step,
			 const struct load_group_key *key, enum load_metric metric, int columns)
{
	double value = sweep_median(step, key, metric);
	char text[48];

	if (load_metrics[metric].unit == LOAD_US && !isnan(value))
		duration_format_fine(text, sizeof(text), (uint64_t)value);
	else
		load_metric_format(text, sizeof(text), metric, value);
	output_format(out, " %*s", columns, text);
}

static void write_step(struct output *out, const struct sweep *sweep, size_t number)
{
	const struct sweep_step *step = &sweep->steps[number];
	char value[32], name[256];

	for (size_t i = 0; i < step->side.group_count; i++) {
		const struct load_group_key *key = &step->side.groups[i].key;

		if (sweep_is_background(sweep, key))
			continue;
		sweep_format(value, sizeof(value), sweep, number);
		snprintf(name, sizeof(name), "%s%s%s", key->cgroup, *key->cgroup ? " " : "",
			 key->work);
		text_padded(out, value, VALUE_COLUMNS);
		output_format(out, " %4u", step->side.runs);
		write_share(out, sweep_achieved(sweep, step));
		write_share(out, load_side_taken(&step->side));
		output_string(out, "  ");
		text_padded(out, name, NAME_COLUMNS);
		write_metric(out, step, key, METRIC_ITERATIONS, 11);
		write_metric(out, step, key, METRIC_RUN_DELAY, 8);
		write_metric(out, step, key, METRIC_WAKE_MEDIAN, 8);
		write_metric(out, step, key, METRIC_WAKE_P99, 8);
		write_metric(out, step, key, METRIC_COST_P99, 8);
		if (step->side.failed)
			output_format(out, "  %u failed", step->side.failed);
		output_char(out, '\n');
	}
	if (!step->side.runs) {
		sweep_format(value, sizeof(value), sweep, number);
		text_padded(out, value, VALUE_COLUMNS);
		output_string(out, "    0      -      -\n");
	}
}

void sweep_table(struct output *out, const struct sweep *sweep, const struct sweep_course *course)
{
	write_head(out, sweep, course);
	sweep_sentences(out, sweep);
	output_char(out, '\n');
	text_padded(out, "VALUE", VALUE_COLUMNS);
	output_format(out, " %4s %6s %6s  ", "RUNS", "CPU%", "OTHER%");
	text_padded(out, "GROUP", NAME_COLUMNS);
	output_format(out, " %11s %8s %8s %8s %8s\n", "ITER/S", "RUNQ", "WAKE-P50", "WAKE-P99",
		      "COST-P99");
	for (size_t i = 0; i < sweep->count; i++)
		write_step(out, sweep, i);
}
