// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/text.h"
#include "view/compare.h"
#include "view/compare_words.h"

#define PATH_COLUMNS   60
#define VALUE_COLUMNS  100
#define METRIC_COLUMNS 15
#define VALUES_SHOWN   4 /* of a fact that differs */

const char *const compare_verdicts[LOAD_VERDICTS] = {
	[LOAD_SAME] = "same",
	[LOAD_BETTER] = "better",
	[LOAD_WORSE] = "worse",
	[LOAD_UNDECIDED] = "undecided",
};

static void write_text(struct output *out, const char *text, size_t columns)
{
	char shown[512];

	text_printable(shown, sizeof(shown), text, columns);
	output_string(out, shown);
}

static void write_count(struct output *out, const char **before, unsigned int count,
			const char *what)
{
	if (!count)
		return;
	output_format(out, "%s%u %s", *before, count, what);
	*before = ", ";
}

static void write_side(struct output *out, const struct load_side *side, char letter,
		       const char *path)
{
	const struct load_left_out *left_out = &side->left_out;
	const char *before = "   left out: ";
	double taken = load_side_taken(side);

	output_format(out, "%c  ", letter);
	write_text(out, path, PATH_COLUMNS);
	output_format(out, "  %u run%s", side->runs, side->runs == 1 ? "" : "s");
	if (side->failed)
		output_format(out, ", of which %u failed by %s own checks", side->failed,
			      side->failed == 1 ? "its" : "their");
	if (!isnan(taken))
		output_format(out, "; others had %.1f %% of the CPUs' time", 100 * taken);
	output_char(out, '\n');
	write_count(out, &before, left_out->unended, "did not come to the end");
	write_count(out, &before, left_out->lacking, "lacked workers");
	write_count(out, &before, left_out->unwritten, "without report.json");
	write_count(out, &before, left_out->unpaired, "of no pair of --ab");
	if (*before == ',')
		output_char(out, '\n');
}

static void write_values(struct output *out, const struct load_facts *facts, const char *what)
{
	unsigned int shown = 0, more = 0;

	for (size_t i = 0; i < facts->count; i++) {
		if (strcmp(facts->items[i].what, what))
			continue;
		if (shown == VALUES_SHOWN) {
			more++;
			continue;
		}
		output_string(out, shown++ ? " | " : " ");
		write_text(out, facts->items[i].value, VALUE_COLUMNS);
	}
	if (more)
		output_format(out, " and %u more", more);
}

/* What differs besides the metrics, which often is the point. */
static void write_differences(struct output *out, const struct load_facts *a,
			      const struct load_facts *b, const char *indent)
{
	size_t position = 0;
	const char *what;

	while ((what = load_facts_differing(a, b, &position))) {
		output_string(out, indent);
		write_text(out, what, VALUE_COLUMNS);
		output_string(out, ": A");
		write_values(out, a, what);
		output_string(out, ", B");
		write_values(out, b, what);
		output_char(out, '\n');
	}
}

static bool is_of_machine(const char *what)
{
	static const char *const facts[] = {"architecture", "cpu_model", "cpus",
					    "cores",	    "llcs",	 "nodes"};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (!strcmp(facts[i], what))
			return true;
	return false;
}

/* What was changed on purpose cannot be distinguished from what another machine does. */
static void write_machines(struct output *out, const struct load_facts *a,
			   const struct load_facts *b)
{
	size_t position = 0;
	const char *what;

	while ((what = load_facts_differing(a, b, &position)))
		if (is_of_machine(what)) {
			output_string(out, "   the machines are not the same: what differs may be "
					   "by them\n");
			return;
		}
}

static void write_change(struct output *out, const struct load_change *change)
{
	char share[32], bounds[64], p[16] = "-";

	compare_share(share, sizeof(share), change->relative);
	compare_interval(bounds, sizeof(bounds), change->low, change->high);
	if (change->p < 0.001)
		snprintf(p, sizeof(p), "<.001");
	else if (!isnan(change->p))
		snprintf(p, sizeof(p), "%.3f", change->p);
	output_format(out, " %9s %19s %6s  %s\n", share, bounds, p,
		      compare_verdicts[change->verdict] ? compare_verdicts[change->verdict] : "?");
}

static void write_metric(struct output *out, enum load_metric metric,
			 const struct load_change *change)
{
	char a[48], b[48];

	load_metric_format(a, sizeof(a), metric, change->medians[0]);
	load_metric_format(b, sizeof(b), metric, change->medians[1]);
	output_format(out, "  %-*s %11s %11s", METRIC_COLUMNS, load_metrics[metric].key, a, b);
	write_change(out, change);
}

static bool is_worth_showing(const struct load_comparison *comparison, enum load_metric metric,
			     const struct load_change *change)
{
	return change->verdict == LOAD_WORSE || change->verdict == LOAD_BETTER ||
	       (change->verdict != LOAD_UNKNOWN && load_comparison_needs(comparison, metric));
}

static void write_group(struct output *out, const struct load_comparison *comparison,
			const struct load_compared *compared, bool all)
{
	char title[256];
	size_t shown = 0;

	load_compared_title(title, sizeof(title), comparison, compared);
	write_text(out, title, VALUE_COLUMNS);
	if (!compared->a || !compared->b) {
		output_format(out, ": only in %s\n", compared->a ? "A" : "B");
		return;
	}
	output_char(out, '\n');
	write_differences(out, &compared->a->facts, &compared->b->facts, "  ");
	if (compared->wakes_differ)
		output_string(out, "  wakeups are left out: not all runs have them of the same "
				   "kind (wake to run, or the wait)\n");
	for (int i = 0; i < LOAD_METRICS; i++) {
		const struct load_change *change = &compared->changes[i];

		if (!all && !is_worth_showing(comparison, (enum load_metric)i, change))
			continue;
		write_metric(out, (enum load_metric)i, change);
		shown++;
	}
	if (!shown)
		output_string(out, "  no change\n");
}

/* How they were run, and why no longer. */
static void write_course(struct output *out, const struct compare_course *course)
{
	static const char *const ends[] = {
		[COMPARE_DECIDED] = "decided",
		[COMPARE_PAIRS] = "as many as allowed",
		[COMPARE_BUDGET] = "what the budget had room for",
		[COMPARE_INTERRUPTED] = "interrupted",
		[COMPARE_FAILED] = "then runs failed",
	};
	char elapsed[16], budget[16];

	duration_format(elapsed, sizeof(elapsed), course->elapsed_ns);
	duration_format(budget, sizeof(budget), course->budget_ns);
	output_format(out, "   %u pair%s, by turns, in %s: ", course->pairs,
		      course->pairs == 1 ? "" : "s", elapsed);
	/* how long a pair takes is known after the first one */
	if (course->end == COMPARE_BUDGET && course->elapsed_ns > course->budget_ns)
		output_format(out, "more than the budget of %s", budget);
	else
		output_string(out, ends[course->end]);
	if (course->voided)
		output_format(out, "; %u more could not be run", course->voided);
	output_char(out, '\n');
}

void compare_table(struct output *out, const struct load_comparison *comparison,
		   const char *const paths[2], const struct compare_course *course, bool all)
{
	const size_t *verdicts = comparison->verdicts;

	write_side(out, comparison->a, 'A', paths[0]);
	write_side(out, comparison->b, 'B', paths[1]);
	write_differences(out, &comparison->a->facts, &comparison->b->facts, "   ");
	write_machines(out, &comparison->a->facts, &comparison->b->facts);
	if (course)
		write_course(out, course);
	else if (comparison->paired)
		output_format(out, "   the two took turns, so their runs are compared in pairs%s\n",
			      comparison->question.alpha < LOAD_ALPHA ? ", as --ab did" : "");
	output_char(out, '\n');
	compare_sentences(out, comparison);
	output_format(out, "\n  %-*s %11s %11s %9s %18s%% %6s  %s\n", METRIC_COLUMNS, "METRIC", "A",
		      "B", "CHANGE", "WITHIN, AT 95 ", "p", "VERDICT");
	for (size_t i = 0; i < comparison->count; i++)
		write_group(out, comparison, &comparison->groups[i], all);
	if (comparison->paired)
		output_string(out,
			      "\nA and B are medians of each side; CHANGE is that of the pairs, "
			      "of which what\nboth runs have in common cancels out, and may "
			      "be of the other sign.\n");
	output_format(out, "\n%zu worse, %zu better, %zu same, %zu undecided", verdicts[LOAD_WORSE],
		      verdicts[LOAD_BETTER], verdicts[LOAD_SAME], verdicts[LOAD_UNDECIDED]);
	if (verdicts[LOAD_UNKNOWN])
		output_format(out, ", %zu measured on one side only", verdicts[LOAD_UNKNOWN]);
	output_char(out, '\n');
}
