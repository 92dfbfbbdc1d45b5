// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view.h"

#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "view/fields.h"

int view_begin(struct view *view, struct error *error)
{
	if (!view->format)
		return 0;
	return emit_begin(&view->emit, view->format, &interval_schema, 1U << view->by, view->fields,
			  view->out, error);
}

/* Whether text has rows without any active time too. */
static bool view_shows_idle(const struct view *view, const struct interval *interval)
{
	/* of a target, everything is of interest */
	return view->show_idle || interval->about->session.flags & WIRE_SESSION_TARGETED;
}

/* Rows without any active time go behind all others; how many others there are. */
static size_t put_idle_last(struct row *rows, size_t count)
{
	size_t active = 0;

	for (size_t i = 0; i < count; i++) {
		if (row_is_idle(&rows[i]))
			continue;
		if (i != active) {
			struct row row = rows[i];

			rows[i] = rows[active];
			rows[active] = row;
		}
		active++;
	}
	return active;
}

int view_interval(const struct view *view, struct interval *interval)
{
	bool is_text = !view->format || view->format == &format_table;
	struct item item = {interval, view};
	size_t total = interval->row_count;
	int result;

	if (is_text && !view_shows_idle(view, interval))
		interval->row_count = put_idle_last(interval->rows, total);
	result = rows_sort(interval->rows, interval->row_count, view->sort, interval->about);
	if (result < 0)
		return result;
	if (view->format)
		emit_result(&view->emit, &item);
	else
		page_interval(view, interval, total);
	interval->row_count = total;
	return 0;
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
