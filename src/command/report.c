// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell report`: a recording in one page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/build_options.h"
#include "base/print.h"
#include "command/command.h"
#include "command/parsing.h"
#include "command/report_html.h"
#include "command/window_options.h"
#include "session/replay.h"
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
	"  dwell report night.dwell --format html > night.html   for a browser\n";

#define FORMATS_OF_REPORTS RESULT_FORMATS ", html"

static int take_format(void *data, const char *value, struct error *error)
{
	struct report *report = data;

	report->is_html = !strcmp(value, "html");
	if (report->is_html) {
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
	ROW_OPTIONS(struct report, " (10 on the page)"),
	OPTIONS_OF(window_option_table, struct report, choice.window),
	END_OF_OPTIONS,
};

/* Rows are sorted where they are, but by what only a column has. */
static int take_order(struct report *report, struct error *error)
{
	struct order *order = &report->output.order;

	report->output.page_keeps = PAGE_CUTS;
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

static int end(void *data, struct error *error)
{
	struct report *report = data;
	int result;

	if (report->is_html && !build_option_enabled(BUILD_PAGE))
		return build_option_missing(BUILD_PAGE, error);
	if (report->is_html && (report->output.given || report->output.fields || report->by_given ||
				report->output.order.field || report->output.order.top))
		return error_set(
			error, EINVAL,
			"--format html has everything, sorted in the browser: it cannot be "
			"combined with --by, --fields, --sort, --top or another format");
	result = take_order(report, error);
	if (result >= 0)
		result = result_options_end(&report->output, &interval_schema, 1U << report->by,
					    error);
	if (result < 0 || report->choice.count)
		return result;
	return error_set(error, EINVAL, "missing FILE: dwell report FILE");
}

static const struct command_line report_line = {
	.options = report_option_table,
	.arguments = "FILE...",
	.text = text,
	.take_argument = take_path,
	.end = end,
};

static int add_interval(void *data, struct interval *interval, struct error *error)
{
	struct report *report = data;

	if (summary_add(&report->summary, interval) < 0 ||
	    (report->html && report_html_add(report->html, interval) < 0))
		return error_set(error, ENOMEM, "out of memory");
	return 0;
}

static int keep_child(void *data, const struct wire_child *child, struct error *error)
{
	struct report *report = data;

	(void)error;
	report->child = *child;
	return 0;
}

static int write_report(struct report *report, const struct recording_facts *facts,
			struct error *error)
{
	if (report->html)
		return report_html_write(report->html, report, error);
	return report->output.format ? report_write_rows(report, error)
				     : report_write_page(report, facts->bytes, error);
}

static int open_report(struct report *report, struct replay *replay, struct error *error)
{
	int result = replay_choose(replay, &report->choice, error);
	const struct recording_facts *facts;

	if (result < 0 || !report->is_html)
		return result;
	facts = recording_facts(replay->recording);
	report->html = report_html_new(facts->last_ns - facts->first_ns);
	return report->html ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int run(struct report *report, struct error *error)
{
	struct replay replay = {
		.audience = {.data = report, .interval = add_interval, .child = keep_child}};
	int damaged = 0, result = open_report(report, &replay, error);
	struct error damage;

	if (result >= 0) {
		result = replay_run(&replay, error);
		damaged = result == -EBADMSG ? result : 0;
	}
	/* writing may have an error of its own */
	damage = *error;
	report->summary.damage = damaged ? damage.text : NULL;
	if (result >= 0 && !report->summary.intervals)
		result = error_set(error, EINVAL, "%s has no whole interval%s",
				   report->choice.paths[0],
				   window_is_part(&report->choice.window) ? " of that time" : "");
	if (result >= 0 || (damaged && report->summary.intervals)) {
		if (summary_end(&report->summary) < 0 ||
		    findings_find(&report->findings, &report->summary.whole) < 0 ||
		    output_init(&report->out, STDOUT_FILENO) < 0)
			return error_set(error, ENOMEM, "out of memory");
		findings_put_deadlock(&report->findings, &report->summary.deadlock);
		report->summary.whole.findings = &report->findings;
		report->summary.whole.summary = &report->summary;
		result = write_report(report, recording_facts(replay.recording), error);
		if (result >= 0)
			result = command_write(&report->out, error);
		output_release(&report->out);
	}
	if (result >= 0 && replay_remark(&replay))
		print_text(stderr, "dwell report: %s\n", replay_remark(&replay));
	replay_release(&replay);
	return result < 0 ? result : damaged;
}

static int report_run(int argc, char **argv)
{
	struct report report = {.is_html = false};
	struct error error = {""};
	int result, code = command_line_parse(&report_line, argc, argv, &report);

	if (code != EXIT_DONE)
		return code;
	result = run(&report, &error);
	summary_release(&report.summary);
	report_html_free(report.html);
	free(report.paths);
	return result < 0 ? command_fail("report", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_report = {
	.name = "report",
	.summary = "sum up a recording",
	.line = &report_line,
	.argument = ARGUMENT_FILE,
	.run = report_run,
};
