// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/sweep.h"

#define TITLE_COLUMNS 80

/* "front pipe-io", where there are several groups. */
static void write_of(struct output *out, const struct sweep *sweep, const struct sweep_curve *curve)
{
	char title[256], shown[256];
	bool several = false;

	for (size_t i = 0; i < sweep->curve_count; i++)
		several |= sweep->curves[i].key.group_idx != curve->key.group_idx ||
			   strcmp(sweep->curves[i].key.cgroup, curve->key.cgroup) != 0 ||
			   strcmp(sweep->curves[i].key.work, curve->key.work) != 0;
	output_string(out, load_metrics[curve->metric].key);
	if (!several)
		return;
	snprintf(title, sizeof(title), "%s%s%s", curve->key.cgroup, *curve->key.cgroup ? " " : "",
		 curve->key.work);
	text_printable(shown, sizeof(shown), title, TITLE_COLUMNS);
	output_format(out, " of %s", shown);
}

static double median_at(const struct sweep *sweep, const struct sweep_curve *curve, size_t step)
{
	return sweep_median(&sweep->steps[step], &curve->key, curve->metric);
}

static void write_value(struct output *out, const struct sweep_curve *curve, double value)
{
	char text[48];

	load_metric_format(text, sizeof(text), curve->metric, value);
	output_string(out, text);
}

static void write_step(struct output *out, const struct sweep *sweep, size_t step)
{
	char text[32];

	sweep_format(text, sizeof(text), sweep, step);
	output_string(out, text);
}

/* The lowest and highest median of the steps, both included. */
static void bounds_of(const struct sweep *sweep, const struct sweep_curve *curve, size_t from,
		      size_t to, double *ret_low, double *ret_high)
{
	*ret_low = *ret_high = NAN;
	for (size_t i = from; i <= to; i++) {
		*ret_low = fmin(*ret_low, median_at(sweep, curve, i));
		*ret_high = fmax(*ret_high, median_at(sweep, curve, i));
	}
}

/* The last step at which it was measured. */
static size_t end_of(const struct sweep *sweep, const struct sweep_curve *curve)
{
	size_t last = sweep->count - 1;

	while (last && isnan(median_at(sweep, curve, last)))
		last--;
	return last;
}

/* "wake-p99 stays at or below 80us up to 70 % of load and is 2.4ms at 95 %; the knee …" */
static void write_course(struct output *out, const struct sweep *sweep,
			 const struct sweep_curve *curve)
{
	bool flat_first = load_metrics[curve->metric].higher_is_better == curve->falls;
	size_t last = end_of(sweep, curve), knee = curve->knee.at;
	double low, high;

	bounds_of(sweep, curve, 0, knee, &low, &high);
	write_of(out, sweep, curve);
	if (flat_first) {
		output_string(out, curve->falls ? " stays at or above " : " stays at or below ");
		write_value(out, curve, curve->falls ? low : high);
		output_format(out, " up to %s ", sweep->name);
		write_step(out, sweep, knee);
		output_string(out, curve->falls ? " and falls to " : " and rises to ");
		write_value(out, curve, median_at(sweep, curve, last));
		output_string(out, " at ");
		write_step(out, sweep, last);
		return;
	}
	output_string(out, curve->falls ? " falls to " : " rises to ");
	write_value(out, curve, median_at(sweep, curve, knee));
	output_format(out, " at %s ", sweep->name);
	write_step(out, sweep, knee);
	bounds_of(sweep, curve, knee, last, &low, &high);
	output_string(out, curve->falls ? " and is not below " : " and is not above ");
	write_value(out, curve, curve->falls ? low : high);
	output_string(out, " behind it");
}

/* The curve bends somewhere from the step before to the one behind: none between was measured. */
static void write_knee(struct output *out, const struct sweep *sweep,
		       const struct sweep_curve *curve)
{
	size_t last = curve->knee.last + 1 < sweep->count ? curve->knee.last + 1 : curve->knee.last;
	bool flat_first = load_metrics[curve->metric].higher_is_better == curve->falls;
	size_t first = !flat_first && curve->knee.first ? curve->knee.first - 1 : curve->knee.first;

	if (!flat_first)
		last = curve->knee.last;
	output_string(out, "the knee lies between ");
	write_step(out, sweep, first);
	output_string(out, " and ");
	write_step(out, sweep, last);
}

static void write_undecided(struct output *out, const struct sweep *sweep,
			    const struct sweep_curve *curve)
{
	output_string(out, "Undecided: ");
	if (curve->disturbed > 0) {
		write_course(out, sweep, curve);
		output_format(out,
			      ", but others had %.0f %% more of the CPUs' time there than before: "
			      "it may be of that.\n",
			      100 * curve->disturbed);
		return;
	}
	write_of(out, sweep, curve);
	if (sweep->steps[curve->knee.at].side.runs < SWEEP_ROUNDS_LEAST)
		output_format(out,
			      " was not measured %d times at each step, so a knee may be chance.",
			      SWEEP_ROUNDS_LEAST);
	else
		output_format(out,
			      " has a knee in %.0f %% of the curves that its runs may stand for.",
			      100 * curve->knee.share);
	if (curve->crowded > 0)
		output_format(out, " Others had up to %.0f %% of the CPUs' time.",
			      100 * curve->crowded);
	output_char(out, '\n');
}

static void write_none(struct output *out, const struct sweep *sweep,
		       const struct sweep_curve *curve)
{
	size_t last = end_of(sweep, curve);
	double low, high;

	bounds_of(sweep, curve, 0, last, &low, &high);
	output_string(out, "No knee: ");
	write_of(out, sweep, curve);
	output_string(out, " is between ");
	write_value(out, curve, low);
	output_string(out, " and ");
	write_value(out, curve, high);
	output_string(out, ".\n");
}

void sweep_sentences(struct output *out, const struct sweep *sweep)
{
	size_t said = 0, undecided = 0;

	for (size_t i = 0; i < sweep->curve_count; i++) {
		const struct sweep_curve *curve = &sweep->curves[i];

		said += curve->answer != SWEEP_NOTHING;
		undecided += curve->answer == SWEEP_UNDECIDED;
		if (curve->answer == SWEEP_UNDECIDED)
			write_undecided(out, sweep, curve);
		if (curve->answer == SWEEP_NO_KNEE)
			write_none(out, sweep, curve);
		if (curve->answer != SWEEP_KNEE)
			continue;
		output_string(out, "Knee: ");
		write_course(out, sweep, curve);
		output_string(out, "; ");
		write_knee(out, sweep, curve);
		output_string(out, ".\n");
	}
	if (undecided)
		output_string(out, "More --rounds, a longer --duration or a quieter machine may "
				   "decide it.\n");
	if (!said)
		output_format(out, "Nothing was measured at %d steps or more.\n",
			      KNEE_POINTS_LEAST);
}
