// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/window.h"
#include "view/fields.h"

/* Else rows are sorted and cut before they are written. */
static bool is_emitted_in_order(const struct view *view)
{
	return view->order.field || view->blame != BLAME_NONE;
}

int view_begin(struct view *view, struct error *error)
{
	view->columns = window_columns(view->out->fd);
	if (!view->format)
		return 0;
	return emit_begin(&view->emit, view->format, interval_schema_for(view->blame),
			  1U << view->by, view->fields,
			  is_emitted_in_order(view) ? &view->order : NULL, view->out, error);
}

/* Whether text has rows without any active time too. */
static bool view_shows_idle(const struct view *view, const struct interval *interval)
{
	/* of a target, everything is of interest */
	return view->show_idle || interval->session->wire.flags & WIRE_SESSION_TARGETED;
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

static int compare_ids(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Of the reasons those of the rows shown; cgroups have none of their own. */
static int keep_reasons(const struct view *view, struct interval *interval,
			struct wire_reason **ret_kept)
{
	size_t shown = view_rows(view, interval), kept = 0;
	cleanup_free uint32_t *ids = NULL;

	if (shown == interval->row_count || !interval->reason_count || view->by == BY_CGROUP)
		return 0;
	ids = reallocarray(NULL, shown, sizeof(*ids));
	*ret_kept = reallocarray(NULL, interval->reason_count, sizeof(**ret_kept));
	if (!ids || !*ret_kept)
		return -ENOMEM;
	for (size_t i = 0; i < shown; i++)
		ids[i] = view->by == BY_THREAD ? interval->rows[i].tid : interval->rows[i].pid;
	qsort(ids, shown, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < interval->reason_count; i++) {
		const struct wire_reason *reason = &interval->reasons[i];
		uint32_t id = view->by == BY_THREAD ? reason->tid : reason->pid;

		if (bsearch(&id, ids, shown, sizeof(*ids), compare_ids))
			(*ret_kept)[kept++] = *reason;
	}
	interval->reasons = *ret_kept;
	interval->reason_count = kept;
	return 0;
}

int view_interval(const struct view *view, struct interval *interval)
{
	cleanup_free struct wire_reason *kept = NULL;
	const struct wire_reason *reasons = interval->reasons;
	size_t reason_count = interval->reason_count;
	bool is_text = !view->format || view->format == &format_table;
	struct item item = {interval, view};
	size_t total = interval->row_count;
	int result;

	if (is_text && !view_shows_idle(view, interval))
		interval->row_count = put_idle_last(interval->rows, total);
	result = rows_sort(interval->rows, interval->row_count, view->sort, interval->session);
	if (result >= 0 && !is_text)
		result = keep_reasons(view, interval, &kept);
	if (result < 0)
		return result;
	if (view->format)
		emit_result(&view->emit, &item);
	else if (view->blame != BLAME_NONE)
		result = page_blame(view, interval);
	else
		page_interval(view, interval, total);
	interval->row_count = total;
	interval->reasons = reasons;
	interval->reason_count = reason_count;
	return result < 0 ? result : 0;
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
	size_t top = view->order.field ? 0 : view->order.top;

	return top && top < interval->row_count ? top : interval->row_count;
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
