// SPDX-License-Identifier: GPL-2.0-or-later
/* What two sets of runs of `dwell load` differ in. */
#include <errno.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "command/compare.h"
#include "results/load_reports.h"
#include "view/compare.h"

static int show(const struct compare_options *options, const struct load_comparison *comparison,
		struct error *error)
{
	const struct result_options *wanted = &options->output;
	struct emit emit = {.format = NULL};
	struct output output;
	int result = 0;

	if (output_init(&output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (wanted->format)
		result = emit_begin(&emit, wanted->format, &compare_load_schema, ~0U,
				    wanted->fields, &output, error);
	else
		compare_table(&output, comparison, options->paths, options->all);
	if (result >= 0 && wanted->format)
		compare_emit(&emit, comparison, options->paths);
	emit_end(&emit);
	if (result >= 0)
		result = command_write(&output, error);
	output_release(&output);
	return result;
}

/* A line for each group that got worse. */
static void tell_worse(const struct load_comparison *comparison)
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
	const size_t *verdicts = comparison->verdicts;

	if (verdicts[LOAD_WORSE]) {
		tell_worse(comparison);
		return EXIT_CHECK_FAILED;
	}
	if (verdicts[LOAD_SAME] || verdicts[LOAD_BETTER])
		return EXIT_DONE;
	fputs("dwell compare: the two have no group and metric in common: nothing to judge\n",
	      stderr);
	return EXIT_INCONCLUSIVE;
}

int compare_load(const struct compare_options *options, enum exit_code *ret_code,
		 struct error *error)
{
	struct load_side sides[2] = {{.runs = 0}};
	struct load_comparison comparison = {.groups = NULL};
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++)
		result = load_reports_read(&sides[i], options->paths[i], error);
	if (result >= 0 && load_compare(&comparison, &sides[0], &sides[1], options->gates) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = show(options, &comparison, error);
	if (result >= 0)
		*ret_code = judge(&comparison);
	load_comparison_release(&comparison);
	for (int i = 0; i < 2; i++)
		load_side_release(&sides[i]);
	return result;
}
