// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell report`: a recording in one page. */
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "command/command.h"
#include "session/replay.h"
#include "command/result_options.h"
#include "command/watch_options.h"
#include "model/group.h"
#include "model/summary.h"
#include "view/fields.h"
#include "view/findings.h"
#include "view/report.h"
#include "view/view.h"

#define DEFAULT_ROWS 10

struct report {
	struct parsing parsing;
	const char *path;
	struct result_options options;
	const struct field *sort; /* of threads; NULL: by active time, or as options.order has it */
	struct summary summary;
	struct findings findings;
	struct output output;
	struct wire_child child; /* size 0: none */
};

static const char doc[] =
	"Sums up a recording: the machine, where the time went, the most active processes and "
	"threads, "
	"and what was lost."
	"\v"
	"Examples:\n"
	"  dwell report night.dwell\n"
	"  dwell report night.dwell --top 30\n"
	"  dwell report night.dwell --format json   one interval that covers all\n";

static const struct argp_option argp_options[] = {
	RESULT_OPTIONS(RESULT_FORMATS " (table)", " (10 on the page)", 1),
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

/* Rows are sorted where they are, but by what only a column has. */
static void take_order(struct report *report)
{
	struct order *order = &report->options.order;

	report->options.page_keeps = PAGE_CUTS;
	report->sort = order->field ? field_find(order->field) : NULL;
	if (report->sort)
		order->field = NULL;
}

static int take_option(struct report *report, int key, const char *value, struct error *error)
{
	int result;

	switch (key) {
	case ARGP_KEY_ARG:
		if (report->path)
			return error_set(error, EINVAL, "one recording at a time");
		report->path = value;
		return 0;
	case ARGP_KEY_END:
		take_order(report);
		result = result_options_end(&report->options, &interval_schema, 1U << BY_THREAD,
					    error);
		if (result < 0 || report->path)
			return result;
		return error_set(error, EINVAL, "missing FILE: dwell report FILE");
	}
	return result_option(&report->options, key, value, false, error);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct report *report = state->input;
	int result;

	if (!report)
		return ARGP_ERR_UNKNOWN;
	if (parsing_helps(key, state))
		return 0;
	result = take_option(report, key, value, &report->parsing.error);
	return parsing_result(&report->parsing, result);
}

static const struct argp report_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "FILE",
	.doc = doc,
};

static int add_interval(void *data, struct interval *interval, struct error *error)
{
	struct report *report = data;

	if (summary_add(&report->summary, interval) < 0)
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

static size_t rows_of_page(const struct report *report)
{
	return report->options.order.top ? report->options.order.top : DEFAULT_ROWS;
}

/* `programs`: all processes of one name are one row. */
static int write_rows(struct report *report, enum grouping by, bool programs, const char *title,
		      struct error *error)
{
	struct interval rows = report->summary.whole;
	struct view view = {
		.format = report->options.format,
		.fields = report->options.fields,
		.out = &report->output,
		.by = by,
		.sort = report->sort ? report->sort : field_find("active"),
		.order = report->options.order,
	};

	if (!view.format)
		view.order.top = rows_of_page(report);
	interval_group(&rows, by);
	if (programs)
		rows.row_count = rows_fold(rows.rows, rows.row_count);
	if (*title)
		output_format(&report->output, "\n%s\n", title);
	if (view_begin(&view, error) < 0)
		return -1;
	if (view_interval(&view, &rows) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (report->child.header.size && by == BY_THREAD)
		view_child(&view, &report->child);
	view_end(&view);
	report->summary.whole = rows;
	return 0;
}

/* Of a file of so many `bytes`. */
static int write_page(struct report *report, uint64_t bytes, struct error *error)
{
	struct output *out = &report->output;
	const struct summary *summary = &report->summary;
	int result;

	report_machine(out, summary, bytes);
	report_findings(out, &report->findings, summary->whole.session);
	report_states(out, summary);
	report_course(out, summary);
	if (report_blame(out, summary, rows_of_page(report)) < 0)
		return error_set(error, ENOMEM, "out of memory");
	/* threads first: grouping makes one row of several */
	result = write_rows(report, BY_THREAD, false, "Threads", error);
	if (result >= 0)
		result = write_rows(report, BY_PROCESS, false, "Processes", error);
	if (result >= 0)
		result = write_rows(report, BY_PROCESS, true, "Programs (all processes of a name)",
				    error);
	return result;
}

static int run(struct report *report, struct error *error)
{
	struct replay replay = {
		.audience = {.data = report, .interval = add_interval, .child = keep_child}};
	int damaged = 0, result = replay_open(&replay, report->path, error);

	if (result >= 0) {
		result = replay_run(&replay, error);
		damaged = result == -EBADMSG ? result : 0;
	}
	if (result >= 0 && !report->summary.intervals)
		result = error_set(error, EINVAL, "%s has no whole interval", report->path);
	if (result >= 0 || (damaged && report->summary.intervals)) {
		if (summary_end(&report->summary) < 0 ||
		    findings_find(&report->findings, &report->summary.whole) < 0 ||
		    output_init(&report->output, STDOUT_FILENO) < 0)
			return error_set(error, ENOMEM, "out of memory");
		report->summary.whole.findings = &report->findings;
		report->summary.whole.summary = &report->summary;
		if (report->options.format)
			result = write_rows(report, BY_THREAD, false, "", error);
		else
			result =
				write_page(report, recording_facts(replay.recording)->bytes, error);
		if (result >= 0)
			result = command_write(&report->output, error);
		output_release(&report->output);
	}
	if (result >= 0 && replay_remark(&replay))
		print_text(stderr, "dwell report: %s\n", replay_remark(&replay));
	replay_release(&replay);
	return result < 0 ? result : damaged;
}

static int report_run(int argc, char **argv)
{
	struct report report = {.path = NULL};
	struct error error = {""};
	int result, code = parsing_run(&report_argp, "dwell report", argc, argv, &report,
				       &report.parsing);

	if (code != EXIT_DONE)
		return code;
	result = run(&report, &error);
	summary_release(&report.summary);
	return result < 0 ? command_fail("report", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_report = {
	.name = "report",
	.summary = "sum up a recording",
	.argp = &report_argp,
	.argument = ARGUMENT_FILE,
	.run = report_run,
};
