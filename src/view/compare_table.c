// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "view/compare.h"

#define PATH_COLUMNS   60
#define VALUE_COLUMNS  100
#define METRIC_COLUMNS 18
#define VALUES_SHOWN   4 /* of a fact that differs */

const char *const compare_verdicts[LOAD_VERDICTS] = {
	[LOAD_SAME] = "same",
	[LOAD_BETTER] = "better",
	[LOAD_WORSE] = "worse",
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

	output_format(out, "%c  ", letter);
	write_text(out, path, PATH_COLUMNS);
	output_format(out, "  %u run%s", side->runs, side->runs == 1 ? "" : "s");
	if (side->failed)
		output_format(out, ", of which %u failed by %s own checks", side->failed,
			      side->failed == 1 ? "its" : "their");
	output_char(out, '\n');
	write_count(out, &before, left_out->unended, "did not come to the end");
	write_count(out, &before, left_out->lacking, "lacked workers");
	write_count(out, &before, left_out->unwritten, "without report.json");
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

static void write_change(struct output *out, const struct load_change *change)
{
	char text[32] = "-", p[16] = "-";

	if (isinf(change->relative))
		snprintf(text, sizeof(text), "from 0");
	else if (!isnan(change->relative))
		snprintf(text, sizeof(text), "%+.1f%%", 100 * change->relative);
	if (change->p < 0.001)
		snprintf(p, sizeof(p), "<.001");
	else if (!isnan(change->p))
		snprintf(p, sizeof(p), "%.3f", change->p);
	output_format(out, " %10s %6s  %s\n", text, p,
		      compare_verdicts[change->verdict] ? compare_verdicts[change->verdict] : "?");
}

static void write_metric(struct output *out, enum load_metric metric,
			 const struct load_change *change)
{
	char a[48], b[48];

	load_metric_format(a, sizeof(a), metric, change->a.mean);
	load_metric_format(b, sizeof(b), metric, change->b.mean);
	output_format(out, "  %-*s %13s %13s", METRIC_COLUMNS, load_metrics[metric].key, a, b);
	write_change(out, change);
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

		if (!all && change->verdict != LOAD_WORSE && change->verdict != LOAD_BETTER)
			continue;
		write_metric(out, (enum load_metric)i, change);
		shown++;
	}
	if (!shown)
		output_string(out, "  no change\n");
}

void compare_table(struct output *out, const struct load_comparison *comparison,
		   const char *const paths[2], bool all)
{
	const size_t *verdicts = comparison->verdicts;

	write_side(out, comparison->a, 'A', paths[0]);
	write_side(out, comparison->b, 'B', paths[1]);
	write_differences(out, &comparison->a->facts, &comparison->b->facts, "   ");
	if (!load_comparison_repeated(comparison))
		output_string(out,
			      "   one run a side cannot distinguish a change from chance; five "
			      "runs a side can\n");
	output_format(out, "\n  %-*s %13s %13s %10s %6s  %s\n", METRIC_COLUMNS, "METRIC", "A", "B",
		      "CHANGE", "p", "VERDICT");
	for (size_t i = 0; i < comparison->count; i++)
		write_group(out, comparison, &comparison->groups[i], all);
	output_format(out, "\n%zu worse, %zu better, %zu same", verdicts[LOAD_WORSE],
		      verdicts[LOAD_BETTER], verdicts[LOAD_SAME]);
	if (verdicts[LOAD_UNKNOWN])
		output_format(out, ", %zu measured on one side only", verdicts[LOAD_UNKNOWN]);
	output_char(out, '\n');
}
