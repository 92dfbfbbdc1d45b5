// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/report_page.h"

#include <errno.h>

#include "view/report.h"
#include "view/view.h"

#define DEFAULT_ROWS 10

static size_t rows_of_page(const struct report *report)
{
	return report->output.order.top ? report->output.order.top : DEFAULT_ROWS;
}

/* `programs`: all processes of one name are one row. */
static int write_rows(struct report *report, enum grouping by, bool programs, const char *title,
		      struct error *error)
{
	struct interval rows = report->summary.whole;
	struct view view = {
		.format = report->output.format,
		.fields = report->output.fields,
		.out = &report->out,
		.by = by,
		.sort = report->sort ? report->sort : field_find("active"),
		.order = report->output.order,
		.programs = programs,
	};

	if (!view.format)
		view.order.top = rows_of_page(report);
	interval_group_blame(&rows, by);
	interval_group(&rows, by);
	if (programs)
		rows.row_count = rows_fold(rows.rows, rows.row_count);
	if (*title)
		output_format(&report->out, "\n%s\n", title);
	if (view_begin(&view, error) < 0)
		return -1;
	if (view_interval(&view, &rows) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (report->child.header.size && by == report->by)
		view_child(&view, &report->child);
	view_end(&view);
	report->summary.whole = rows;
	return 0;
}

static const char *const titles[GROUPINGS_COUNT] = {
	[BY_THREAD] = "Threads", [BY_PROCESS] = "Processes", [BY_CGROUP] = "Cgroups"};

int report_write_page(struct report *report, uint64_t bytes, struct error *error)
{
	struct output *out = &report->out;
	const struct summary *summary = &report->summary;
	int result;

	report_machine(out, summary, bytes);
	report_findings(out, &report->findings, summary->whole.session);
	report_states(out, summary);
	report_course(out, summary);
	if (report_blame(out, summary, rows_of_page(report)) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (report->by_given)
		return write_rows(report, report->by, false, titles[report->by], error);
	/* threads first: grouping makes one row of several */
	result = write_rows(report, BY_THREAD, false, titles[BY_THREAD], error);
	if (result >= 0)
		result = write_rows(report, BY_PROCESS, false, titles[BY_PROCESS], error);
	if (result >= 0)
		result = write_rows(report, BY_PROCESS, true, "Programs (all processes of a name)",
				    error);
	return result;
}

int report_write_rows(struct report *report, struct error *error)
{
	return write_rows(report, report->by, false, "", error);
}
