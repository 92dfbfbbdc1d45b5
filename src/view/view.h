/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals in any format: as a page of text, or by their schema. */
#ifndef DWELL_VIEW_VIEW_H
#define DWELL_VIEW_VIEW_H

#include <stdbool.h>

#include "emit/emit.h"
#include "model/blame_side.h"
#include "model/group.h"
#include "model/interval.h"

struct view {
	const struct format *format; /* NULL: the page of text */
	const char *fields;	     /* of --fields; NULL: all */
	struct output *out;
	enum grouping by;
	const struct field *sort;
	/* top: rows to show; field: what only a column has, rather than `sort` */
	struct order order;
	enum blame_side blame; /* other than none, the page of text is page_blame() */
	bool findings;	       /* of blame, on that page, too */
	bool programs;	       /* rows are rows_fold()'s: all processes of a name */
	bool show_idle;	       /* in text: also rows without any active time */
	/* the rest is the view's own */
	size_t columns; /* of the terminal that the text goes to; 0: to none */
	struct emit emit;
};

extern const struct schema interval_schema, interval_blame_schema, child_schema, missing_schema;

/* Of a view with or without blame. */
static inline const struct schema *interval_schema_for(enum blame_side blame)
{
	return blame != BLAME_NONE ? &interval_blame_schema : &interval_schema;
}

/* Once, before the first interval. -EINVAL for --fields that do not exist; -ENOMEM. */
int view_begin(struct view *view, struct error *error) must_check;

/* Rows come grouped; the view sorts them, and shows the first `order.top`. 0 or -ENOMEM. */
int view_interval(const struct view *view, struct interval *interval) must_check;

/* The watched command has ended. */
void view_child(const struct view *view, const struct wire_child *child);

void view_end(struct view *view);

/* How many of the interval's rows to show. */
size_t view_rows(const struct view *view, const struct interval *interval);

/* The page of text: percentages of the time each row existed; of `total` rows these are left. */
void page_interval(const struct view *view, const struct interval *interval, size_t total);
/* Its first line. `noun`: of what there are `total`; NULL: how many is not known. */
void page_title(const struct view *view, const struct interval *interval, const char *noun,
		size_t total, size_t shown);
/* Who lost most, and because of whom: of the blame, not of the rows. 0 or -ENOMEM. */
int page_blame(const struct view *view, const struct interval *interval) must_check;
void page_child(const struct view *view, const struct wire_child *child);

/* RFC 3339, UTC, nanoseconds: 31 bytes with the NUL. */
#define VIEW_TIME_BYTES 40
void view_format_time(char *into, uint64_t realtime_ns);

#endif
