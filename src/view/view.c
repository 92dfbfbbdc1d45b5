// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view.h"

#include <string.h>
#include <time.h>

#include "base/duration.h"

int view_begin(struct view *view, struct error *error)
{
	if (!view->format)
		return 0;
	return emit_begin(&view->emit, view->format, &interval_schema, 1U << view->by, view->fields,
			  view->out, error);
}

/* Leaves out rows without any active time. */
static void drop_idle(struct interval *interval)
{
	size_t count = 0;

	for (size_t i = 0; i < interval->row_count; i++)
		if (!row_is_idle(&interval->rows[i]))
			interval->rows[count++] = interval->rows[i];
	interval->row_count = count;
}

void view_interval(const struct view *view, struct interval *interval)
{
	struct item item = {interval, view};

	if (!view->format) {
		page_interval(view, interval);
		return;
	}
	if (view->format == &format_table && !view_shows_idle(view, interval))
		drop_idle(interval);
	emit_result(&view->emit, &item);
}

void view_child(const struct view *view, const struct wire_child *child)
{
	struct item item = {child, NULL};

	if (!view->format)
		page_child(view, child);
	else if (!view->format->has_rows)
		emit_json_line(view->out, &child_schema, &item);
}

void view_end(struct view *view)
{
	emit_end(&view->emit);
}

bool view_shows_idle(const struct view *view, const struct interval *interval)
{
	/* of a target, everything is of interest */
	return view->show_idle || interval->about->session.flags & WIRE_SESSION_TARGETED;
}

size_t view_rows(const struct view *view, const struct interval *interval)
{
	return view->top && view->top < interval->row_count ? view->top : interval->row_count;
}

void view_format_time(char *into, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm tm;
	size_t length;

	gmtime_r(&seconds, &tm);
	length = strftime(into, VIEW_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(into + length, VIEW_TIME_BYTES - length, ".%09uZ",
		 (unsigned int)(realtime_ns % NS_PER_S));
}
