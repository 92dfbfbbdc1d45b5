// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell report`: a recording in one page. */
#include <errno.h>
#include <stdlib.h>

#include "base/print.h"
#include "command/command.h"
#include "command/report_clickhouse.h"
#include "command/report_html.h"
#include "command/report_options.h"
#include "command/window_options.h"
#include "session/replay.h"

static int add_interval(void *data, struct interval *interval, struct error *error)
{
	struct report *report = data;

	if (summary_add(&report->summary, interval) < 0 ||
	    (report->html && report_html_add(report->html, interval) < 0))
		return error_set(error, ENOMEM, "out of memory");
	if (!report->clickhouse)
		return 0;
	report_clickhouse_add(report->clickhouse, interval, &report->out);
	return command_write(&report->out, error);
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
	if (report->clickhouse) {
		report_clickhouse_end(report->clickhouse, report->summary.whole.session,
				      &report->out);
		return 0;
	}
	return report->output.format ? report_write_rows(report, error)
				     : report_write_page(report, facts->bytes, error);
}

static int open_report(struct report *report, struct replay *replay, struct error *error)
{
	int result = replay_choose(replay, &report->choice, error);
	const struct recording_facts *facts;

	if (result < 0)
		return result;
	if (output_init(&report->out, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	facts = recording_facts(replay->recording);
	if (report->form == REPORT_HTML)
		report->html = report_html_new(facts->last_ns - facts->first_ns);
	if (report->form == REPORT_CLICKHOUSE)
		report->clickhouse = report_clickhouse_new(report->by, report->every_ns);
	return report->form == REPORT_OF_ROWS || report->html || report->clickhouse
		       ? 0
		       : error_set(error, ENOMEM, "out of memory");
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
		    findings_find(&report->findings, &report->summary.whole) < 0)
			return error_set(error, ENOMEM, "out of memory");
		findings_put_deadlock(&report->findings, &report->summary.deadlock);
		report->summary.whole.findings = &report->findings;
		report->summary.whole.summary = &report->summary;
		result = write_report(report, recording_facts(replay.recording), error);
		if (result >= 0)
			result = command_write(&report->out, error);
	}
	if (result >= 0 && replay_remark(&replay))
		print_text(stderr, "dwell report: %s\n", replay_remark(&replay));
	replay_release(&replay);
	return result < 0 ? result : damaged;
}

static int report_run(int argc, char **argv)
{
	struct report report = {.form = REPORT_OF_ROWS};
	struct error error = {""};
	int result, code = command_line_parse(&report_line, argc, argv, &report);

	if (code != EXIT_DONE)
		return code;
	result = run(&report, &error);
	summary_release(&report.summary);
	report_html_free(report.html);
	report_clickhouse_free(report.clickhouse);
	output_release(&report.out);
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
