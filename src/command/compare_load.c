// SPDX-License-Identifier: GPL-2.0-or-later
/* What two sets of runs of `dwell load` differ in. */
#include <errno.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "command/compare.h"
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

int compare_load(const struct compare_options *options, enum exit_code *ret_code,
		 struct error *error)
{
	struct load_side sides[2] = {{.runs = 0}};
	struct load_comparison comparison = {.groups = NULL};
	const struct compared compared = {options, &comparison};
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++)
		result = load_reports_read(&sides[i], options->paths[i], error);
	if (result >= 0 && load_compare(&comparison, &sides[0], &sides[1], &options->question) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = result_print(&options->output, &kind, &compared, error);
	if (result >= 0)
		*ret_code = judge(&comparison);
	load_comparison_release(&comparison);
	for (int i = 0; i < 2; i++)
		load_side_release(&sides[i]);
	return result;
}
