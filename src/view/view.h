/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output formats: one file each, one line in `views`. */
#ifndef DWELL_VIEW_VIEW_H
#define DWELL_VIEW_VIEW_H

#include <stdbool.h>

#include "base/output.h"
#include "model/group.h"
#include "model/interval.h"
#include "view/fields.h"

struct view {
	const struct view_ops *ops;
	struct output *out;
	enum grouping by;
	size_t top;	/* rows to show, 0 = all */
	bool show_idle; /* in tables: also rows without any active time */
};

struct view_ops {
	const char *name;
	const char *help;
	/* Once, before the first interval; may be NULL. */
	void (*begin)(const struct view *view);
	/* Rows come sorted and grouped; the view shows the first `top`. */
	void (*interval)(const struct view *view, const struct interval *interval);
	/* The watched command has ended; may be NULL. */
	void (*child)(const struct view *view, const struct wire_child *child);
};

extern const struct view_ops view_table, view_json, view_csv;

extern const struct view_ops *const views[];
extern const size_t view_count;

/* NULL: no such format. */
const struct view_ops *view_find(const char *name);

/* How many of the interval's rows to show. */
size_t view_rows(const struct view *view, const struct interval *interval);

/* RFC 3339, UTC, nanoseconds: 31 bytes with the NUL. */
#define VIEW_TIME_BYTES 40
void view_format_time(char *into, uint64_t realtime_ns);

#endif
