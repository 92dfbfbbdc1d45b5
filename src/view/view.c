// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view.h"

#include <string.h>
#include <time.h>

#include "base/duration.h"

const struct view_ops *const views[] = {&view_table, &view_json, &view_csv};
const size_t view_count = ARRAY_SIZE(views);

const struct view_ops *view_find(const char *name)
{
	for (size_t i = 0; i < view_count; i++)
		if (!strcmp(views[i]->name, name))
			return views[i];
	return NULL;
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
