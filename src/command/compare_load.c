// SPDX-License-Identifier: GPL-2.0-or-later
/* What two sets of runs of `dwell load` differ in. */
#include <errno.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "command/compare.h"
#include "results/ab_runs.h"
#include "results/load_reports.h"
#include "view/compare.h"

struct compared {
	const struct compare_options *options;
	const struct load_comparison *comparison;
};

static int write_page(struct output *out, const void *result)
{
	const struct compared *compared = result;

	compare_table(out, compared->comparison, compared->options->paths, NULL,
		      compared->options->all);
	return 0;
}

static int emit_compared(const struct emit *emit, const void *result)
{
	const struct compared *compared = result;

	compare_emit(emit, compared->comparison, compared->options->paths, NULL);
	return 0;
}

static const struct result_kind kind = {
	.schema = &compare_load_schema, .page = write_page, .emit = emit_compared};

/* A line for each group that got worse. */
static void report_worse(const struct load_comparison *comparison)
{
	char title[256], shown[256];

	for (size_t i = 0; i < comparison->count; i++) {
		const struct load_compared *compared = &comparison->groups[i];
		const char *before = ":";

		if (!compared->a || !compared->b)
			continue;
		load_compared_title(title, sizeof(title), comparison, compared);
		text_printable(shown, sizeof(shown), title, 100);
		for (int k = 0; k < LOAD_METRICS; k++) {
			if (compared->changes[k].verdict != LOAD_WORSE)
				continue;
			if (*before == ':')
				print_text(stderr, "dwell compare: worse in %s", shown);
			print_text(stderr, "%s %s", before, load_metrics[k].key);
			before = ",";
		}
		if (*before == ',')
			fputc('\n', stderr);
	}
}

static enum exit_code judge(const struct load_comparison *comparison)
{
	if (comparison->verdicts[LOAD_WORSE]) {
		report_worse(comparison);
		return EXIT_CHECK_FAILED;
	}
	switch (comparison->answer) {
	case LOAD_EQUAL:
	case LOAD_DIFFERENT:
		return EXIT_DONE;
	case LOAD_OPEN:
		fputs("dwell compare: undecided: more runs would show whether they differ\n",
		      stderr);
		return EXIT_INCONCLUSIVE;
	case LOAD_NOTHING:
		break;
	}
	fputs("dwell compare: the two have no group and metric in common: nothing to judge\n",
	      stderr);
	return EXIT_INCONCLUSIVE;
}

static void release_sides(struct load_side sides[2])
{
	for (int i = 0; i < 2; i++)
		load_side_release(&sides[i]);
}

static int read_sides(struct load_side sides[2], const struct compare_options *options,
		      const struct load_starts *only, struct error *error)
{
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++) {
		sides[i].only = only;
		result = load_reports_read(&sides[i], options->paths[i], error);
	}
	return result;
}

/* Runs that `dwell load --ab` has kept are asked about as it did; others, all there are. */
static int read_as_made(struct load_side sides[2], const struct compare_options *options,
			const struct ab_runs *pairs, struct load_question *question,
			struct error *error)
{
	int result;

	if (!pairs->starts.count)
		return read_sides(sides, options, NULL, error);
	result = read_sides(sides, options, &pairs->starts, error);
	if (result < 0)
		return result;
	if (sides[0].runs && sides[1].runs) {
		question->alpha = LOAD_ALPHA / pairs->looks;
		question->by_turns = true;
		return 0;
	}
	/* the other side was not made along with this one */
	release_sides(sides);
	return read_sides(sides, options, NULL, error);
}

int compare_load(const struct compare_options *options, enum exit_code *ret_code,
		 struct error *error)
{
	struct load_side sides[2] = {{.runs = 0}};
	struct load_comparison comparison = {.groups = NULL};
	const struct compared compared = {options, &comparison};
	struct load_question question = options->question;
	struct ab_runs pairs = {.looks = 0};
	int result = ab_runs_read(&pairs, options->paths[0], error);

	if (result >= 0)
		result = read_as_made(sides, options, &pairs, &question, error);
	if (result >= 0 && load_compare(&comparison, &sides[0], &sides[1], &question) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = result_print(&options->output, &kind, &compared, error);
	if (result >= 0)
		*ret_code = judge(&comparison);
	load_comparison_release(&comparison);
	release_sides(sides);
	ab_runs_release(&pairs);
	return result;
}
