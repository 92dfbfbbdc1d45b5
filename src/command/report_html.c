// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/report_html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/machine_page.h"

/* Of a busy machine that is a file of some megabytes. */
#define PERIODS 360

struct report_html {
	struct counters counters;
	struct periods periods;
};

struct report_html *report_html_new(uint64_t duration_ns)
{
	struct report_html *html = calloc(1, sizeof(*html));
	uint64_t length_ns = duration_ns / PERIODS;

	if (!html)
		return NULL;
	periods_init(&html->periods, &length_ns, 1);
	if (counters_init(&html->counters, BY_PROCESS, COUNTERS_GROUPS, 1) >= 0)
		return html;
	report_html_free(html);
	return NULL;
}

void report_html_free(struct report_html *html)
{
	if (!html)
		return;
	counters_release(&html->counters);
	periods_release(&html->periods);
	free(html);
}

int report_html_add(struct report_html *html, const struct interval *interval)
{
	return periods_add(&html->periods, &html->counters, interval);
}

int report_html_write(struct report_html *html, struct report *report, struct error *error)
{
	const struct summary *summary = &report->summary;
	struct interval programs = summary->whole;
	const char *path = report->choice.paths[0], *slash = strrchr(path, '/');
	struct serve_status status = {
		.counters = &html->counters,
		.session = programs.session,
		.interval_ns = summary->measured_ns / summary->intervals,
		.lengths_ns = {html->periods.levels[0].length_ns},
		.kept_ns = programs.end_ns - programs.start_ns,
	};
	const struct machine_page page = {
		.status = &status,
		.periods = &html->periods,
		.findings = &report->findings,
		.programs = &programs,
		.damage = summary->damage,
		.file = slash && slash[1] ? slash + 1 : path,
	};
	int result = periods_end(&html->periods, &html->counters);

	interval_group(&programs, BY_PROCESS);
	programs.row_count = rows_fold(programs.rows, programs.row_count);
	if (result >= 0)
		result = rows_sort(programs.rows, programs.row_count, field_find("active"),
				   programs.session);
	if (result >= 0)
		result = machine_page_write(&report->out, &page);
	report->summary.whole = programs;
	return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}
