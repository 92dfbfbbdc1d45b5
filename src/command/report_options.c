// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/report_options.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/build_options.h"
#include "command/parsing.h"
#include "command/report_page.h"
#include "command/window_options.h"
#include "view/view.h"

static const char text[] =
	"Sums up a recording: the machine, where the time went, the most active processes and "
	"threads, "
	"and what was lost. FILEs that follow each other are summed up as one; a directory stands "
	"for all files of `dwell record --rotate` or `dwell serve --store` in it."
	"\v"
	"Examples:\n"
	"  dwell report night.dwell\n"
	"  dwell report night.dwell --top 30\n"
	"  dwell report night.dwell --by cgroup\n"
	"  dwell report /var/lib/dwell --since 14:05 --until 14:10\n"
	"  dwell report night.dwell --format json   one interval that covers all\n"
	"  dwell report night.dwell --format html > night.html   for a browser\n"
	"  dwell report night.dwell --format clickhouse | clickhouse-client \\\n"
	"      --query 'INSERT INTO dwell.samples FORMAT JSONEachRow'\n";

#define FORMATS_OF_REPORTS RESULT_FORMATS ", html, clickhouse"

static int take_format(void *data, const char *value, struct error *error)
{
	struct report *report = data;

	report->form = !strcmp(value, "html")	      ? REPORT_HTML
		       : !strcmp(value, "clickhouse") ? REPORT_CLICKHOUSE
						      : REPORT_OF_ROWS;
	if (report->form != REPORT_OF_ROWS) {
		report->output.format = NULL;
		return 0;
	}
	if (!format_find(value))
		return parsing_unknown(error, "format", value, FORMATS_OF_REPORTS);
	return result_take_format(&report->output, value, error);
}

static int take_by(void *data, const char *value, struct error *error)
{
	struct report *report = data;

	report->by_given = true;
	return parsing_grouping(value, true, &report->by, error);
}

static const struct command_option report_option_table[] = {
	TAKEN_OPTION("by", 0, "WHAT", take_by,
		     "a row per thread, process or cgroup (thread; the page has threads, processes "
		     "and programs)"),
	TAKEN_OPTION("format", 0, "FORMAT", take_format, FORMATS_OF_REPORTS " (table)"),
	TIME_OPTION("every", 0, struct report, every_ns,
		    "with --format clickhouse: rows so often, at the end of an interval (each)"),
	ROW_OPTIONS(struct report, " (10 on the page)"),
	OPTIONS_OF(window_option_table, struct report, choice.window),
	END_OF_OPTIONS,
};

/* Rows are sorted where they are, but by what only a column has. */
static int take_order(struct report *report, struct error *error)
{
	struct order *order = &report->output.order;

	report->output.page_keeps = PAGE_CUTS;
	report->output.ordering = field_find("active");
	report->sort = order->field ? field_find(order->field) : NULL;
	if (!report->sort)
		return 0;
	if (!field_orders(report->sort, 1U << report->by))
		return error_set(error, EINVAL, "rows by %s have no field '%s' to sort by",
				 grouping_keys[report->by], report->sort->name);
	order->field = NULL;
	return 0;
}

static int take_path(void *data, char **rest, bool is_behind_dashes, struct error *error)
{
	struct report *report = data;
	struct recording_choice *choice = &report->choice;

	(void)is_behind_dashes;
	if (array_reserve(&report->paths, &report->path_room, choice->count + 1,
			  sizeof(*report->paths)) < 0)
		return error_set(error, ENOMEM, "out of memory");
	report->paths[choice->count++] = rest[0];
	choice->paths = report->paths;
	return ARGUMENT_TAKEN;
}

/* What chooses or sorts rows means nothing to those that have all. */
static int check_form(struct report *report, struct error *error)
{
	const struct result_options *output = &report->output;
	bool has_others =
		output->given || output->fields || output->order.field || output->order.top;

	if (report->form == REPORT_HTML && !build_option_enabled(BUILD_PAGE))
		return build_option_missing(BUILD_PAGE, error);
	if (report->form == REPORT_HTML && (has_others || report->by_given))
		return error_set(
			error, EINVAL,
			"--format html has everything, sorted in the browser: it cannot be "
			"combined with --by, --fields, --sort, --top or another format");
	if (report->form != REPORT_CLICKHOUSE)
		return report->every_ns
			       ? error_set(error, EINVAL, "--every is for --format clickhouse")
			       : 0;
	if (has_others)
		return error_set(error, EINVAL,
				 "--format clickhouse has all rows: it cannot be combined with "
				 "--fields, --sort, --top or another format");
	if (!report->by_given)
		report->by = BY_CGROUP;
	return report->by == BY_THREAD
		       ? error_set(error, EINVAL,
				   "--format clickhouse has rows by process or cgroup, as dwell "
				   "serve does")
		       : 0;
}

static int end(void *data, struct error *error)
{
	struct report *report = data;
	int result = check_form(report, error);

	if (result >= 0)
		result = take_order(report, error);
	if (result >= 0)
		result = result_options_end(&report->output, &interval_schema, 1U << report->by,
					    error);
	if (result < 0 || report->choice.count)
		return result;
	return error_set(error, EINVAL, "missing FILE: dwell report FILE");
}

const struct command_line report_line = {
	.options = report_option_table,
	.arguments = "FILE...",
	.text = text,
	.take_argument = take_path,
	.end = end,
};
