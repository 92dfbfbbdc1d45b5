// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/compare_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SENTENCES_MAX 5	  /* of what got worse, and as many of what got better */
#define NAMED_MAX     4	  /* metrics in a sentence */
#define WANTED_FEW    200 /* runs that are worth waiting for */
#define TITLE_COLUMNS 80
#define TIMES_FROM    2. /* three times as much is no percentage in a sentence */
#define FACTORS_FROM  9. /* and ten times as much none in a table */

struct finding {
	const struct load_compared *compared;
	enum load_metric metric;
	const struct load_change *change;
	bool decisive;
};

/* "-8.1" of percent; "x172" of what is no percentage any more. */
static void format_share(char *into, size_t room, double share)
{
	/* nothing has no sign */
	if (fabs(share) < 0.0005)
		snprintf(into, room, "0.0");
	else if (share >= FACTORS_FROM)
		snprintf(into, room, "x%.0f", 1 + share);
	else
		snprintf(into, room, "%+.1f", 100 * share);
}

void compare_share(char *into, size_t room, double share)
{
	char text[32];

	if (isnan(share)) {
		snprintf(into, room, "-");
	} else if (isinf(share)) {
		snprintf(into, room, "from 0");
	} else {
		format_share(text, sizeof(text), share);
		snprintf(into, room, "%s%s", text, share >= FACTORS_FROM ? "" : "%");
	}
}

void compare_interval(char *into, size_t room, double low, double high)
{
	char lower[32];

	if (!isfinite(low) || !isfinite(high)) {
		snprintf(into, room, "-");
		return;
	}
	format_share(lower, sizeof(lower), low);
	snprintf(into, room, "%s to ", lower);
	compare_share(into + strlen(into), room - strlen(into), high);
}

/* What has to be decided first, then by size: a tenth is as far as ten times as much. */
static int by_weight(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;
	double a_size = fabs(log1p(a->change->relative));
	double b_size = fabs(log1p(b->change->relative));

	if (a->decisive != b->decisive)
		return a->decisive ? -1 : 1;
	return a_size > b_size ? -1 : a_size < b_size;
}

/* Of one verdict; `decisive`: only metrics that have to be decided. Returns how many. */
static size_t gather(struct finding *findings, const struct load_comparison *comparison,
		     enum load_verdict verdict, bool decisive)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->count; i++) {
		const struct load_compared *compared = &comparison->groups[i];

		for (int k = 0; compared->a && compared->b && k < LOAD_METRICS; k++) {
			bool needed = load_comparison_needs(comparison, (enum load_metric)k);

			if (compared->changes[k].verdict != verdict || (decisive && !needed))
				continue;
			findings[count++] = (struct finding){compared, (enum load_metric)k,
							     &compared->changes[k], needed};
		}
	}
	return count;
}

/* Groups that have no name beside their work need none where there is only one. */
static void write_of(struct output *out, const struct load_comparison *comparison,
		     const struct finding *finding)
{
	char title[256], shown[256];

	output_string(out, load_metrics[finding->metric].key);
	if (comparison->count == 1)
		return;
	load_compared_title(title, sizeof(title), comparison, finding->compared);
	text_printable(shown, sizeof(shown), title, TITLE_COLUMNS);
	output_format(out, " of %s", shown);
}

static void write_bounds(struct output *out, double low, double high, bool times)
{
	if (times)
		output_format(out, " (%.0f %%: %.1f to %.1f)", 100 * (1 - LOAD_ALPHA), 1 + low,
			      1 + high);
	else
		output_format(out, " (%.0f %%: %.1f to %.1f)", 100 * (1 - LOAD_ALPHA), 100 * low,
			      100 * high);
}

static void write_change(struct output *out, const struct load_comparison *comparison,
			 const struct finding *finding)
{
	const struct load_change *change = finding->change;
	bool lower = change->relative < 0, times = change->relative >= TIMES_FROM;
	double low = lower ? -change->high : change->low;
	double high = lower ? -change->low : change->high;
	char a[48], b[48];

	load_metric_format(a, sizeof(a), finding->metric, change->medians[0]);
	load_metric_format(b, sizeof(b), finding->metric, change->medians[1]);
	output_string(out, change->verdict == LOAD_WORSE ? "Worse: " : "Better: ");
	write_of(out, comparison, finding);
	if (isinf(change->relative))
		output_format(out, " is %s, and 0 in A.\n", b);
	else if (times)
		output_format(out, " is %.1f times as high", 1 + change->relative);
	else
		output_format(out, " is %.1f %% %s", 100 * fabs(change->relative),
			      lower ? "lower" : "higher");
	if (isinf(change->relative))
		return;
	if (isfinite(change->low) && isfinite(change->high))
		write_bounds(out, low, high, times);
	output_format(out, ", %s instead of %s.\n", b, a);
}

static void write_changes(struct output *out, const struct load_comparison *comparison,
			  struct finding *findings, enum load_verdict verdict)
{
	size_t count = gather(findings, comparison, verdict, false);

	qsort(findings, count, sizeof(*findings), by_weight);
	for (size_t i = 0; i < count && i < SENTENCES_MAX; i++)
		write_change(out, comparison, &findings[i]);
	if (count > SENTENCES_MAX)
		output_format(out, "%s: %zu more, in the table.\n",
			      verdict == LOAD_WORSE ? "Worse" : "Better", count - SENTENCES_MAX);
}

static void write_same(struct output *out, const struct load_comparison *comparison,
		       struct finding *findings)
{
	size_t count = gather(findings, comparison, LOAD_SAME, true);

	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		const struct load_change *change = findings[i].change;

		output_string(out, i ? ", " : "The same: ");
		write_of(out, comparison, &findings[i]);
		output_format(out, " to within %.1f %%",
			      100 * fmax(fabs(change->low), fabs(change->high)));
	}
	if (count > NAMED_MAX)
		output_format(out, ", and %zu more in the table", count - NAMED_MAX);
	if (count)
		output_string(out, ".\n");
}

/* Why it could not be decided, and what would decide it. */
static void write_wanted(struct output *out, const struct load_comparison *comparison)
{
	const struct load_question *question = &comparison->question;
	unsigned int least = load_runs_least(question->alpha, comparison->paired);
	unsigned int runs = comparison->a->runs < comparison->b->runs ? comparison->a->runs
								      : comparison->b->runs;
	const char *what = comparison->paired ? "pairs" : "runs a side";

	if (runs < least)
		output_format(out,
			      "%u %s cannot distinguish a change from chance: %u can, where it is "
			      "large.\n",
			      runs,
			      comparison->paired ? runs == 1 ? "pair" : "pairs"
			      : runs == 1	 ? "run a side"
						 : "runs a side",
			      least);
	else if (comparison->wanted > WANTED_FEW)
		output_format(out,
			      "About %u %s would decide it: longer runs, fewer --metrics or a "
			      "quieter machine take less.\n",
			      comparison->wanted, what);
	else if (comparison->wanted)
		output_format(out, "About %u %s would decide it.\n", comparison->wanted, what);
}

static void write_undecided(struct output *out, const struct load_comparison *comparison,
			    struct finding *findings)
{
	size_t count = gather(findings, comparison, LOAD_UNDECIDED, true);

	if (!count)
		count = comparison->answer == LOAD_OPEN
				? gather(findings, comparison, LOAD_UNDECIDED, false)
				: 0;
	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		char bounds[64];

		compare_interval(bounds, sizeof(bounds), findings[i].change->low,
				 findings[i].change->high);
		output_string(out, i ? ", " : "Undecided: ");
		write_of(out, comparison, &findings[i]);
		if (*bounds != '-' || bounds[1])
			output_format(out, " (%s)", bounds);
	}
	if (count > NAMED_MAX)
		output_format(out, ", and %zu more in the table", count - NAMED_MAX);
	if (!count)
		return;
	output_string(out, ".\n");
	write_wanted(out, comparison);
}

void compare_sentences(struct output *out, const struct load_comparison *comparison)
{
	struct finding *findings = calloc(comparison->count * LOAD_METRICS + 1, sizeof(*findings));

	/* the table says the same */
	if (!findings)
		return;
	if (comparison->answer == LOAD_NOTHING)
		output_string(out, "The two have no group and metric in common.\n");
	write_changes(out, comparison, findings, LOAD_WORSE);
	write_changes(out, comparison, findings, LOAD_BETTER);
	if (comparison->answer == LOAD_EQUAL)
		output_string(out, "No difference beyond the gates.\n");
	write_same(out, comparison, findings);
	write_undecided(out, comparison, findings);
	free(findings);
}
