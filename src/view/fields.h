/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one table of what a row has to show: text columns, CSV columns, JSON keys, sort keys and the
 * list in --help all come from it, so they cannot disagree.
 */
#ifndef DWELL_VIEW_FIELDS_H
#define DWELL_VIEW_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/group.h"
#include "model/interval.h"
#include "model/reason.h"

enum value_kind {
	VALUE_NULL, /* not measured, or meaningless for this row */
	VALUE_NUMBER,
	VALUE_STRING,
	VALUE_BOOL,
	VALUE_DELAY, /* two numbers: how often, and how long in all */
};

struct value {
	enum value_kind kind;
	uint64_t number;    /* of VALUE_DELAY: ns */
	uint64_t count;	    /* of VALUE_DELAY */
	const char *string; /* any bytes; into `text`, the row, or a cache that outlives it */
	char text[REASON_BYTES];
};

struct field {
	const char *name;   /* for --sort; unique */
	const char *group;  /* JSON object it is in, NULL = the row itself; neighbours share one */
	const char *key;    /* JSON key; NULL = only for sorting */
	const char *header; /* column in tables; NULL = has none */
	const char *help;
	unsigned int levels; /* which groupings have it: 1 << enum grouping */
	void (*get)(const struct field *field, const struct row *row, const struct about *about,
		    struct value *ret_value);
	int argument;	    /* for `get`: which of several alike */
	unsigned int needs; /* enum wire_figure; a source without it gives null */
};

extern const struct field fields[];
extern const size_t field_count;

static inline bool field_applies(const struct field *field, enum grouping by)
{
	return field->levels & 1U << by;
}

/* The value of a field; null where the session does not measure it. */
void field_get(const struct field *field, const struct row *row, const struct about *about,
	       struct value *ret_value);

/*
 * By its name, or by its heading in tables or key in JSON ("RUNQ", "in_state_ns"), where no other
 * has that name. As similar_same() compares. NULL: no such field.
 */
const struct field *field_find(const char *name);

/* A row and its place in an order, of which many are sorted without asking for values again. */
struct ordered_row {
	const struct row *row;
	uint64_t number;
	const char *string; /* NULL: a number; into the row, `about` or a constant */
	bool missing;
};

/*
 * Sorts references to rows by a field: as rows_sort(), or the other way round with `reverse`. What
 * is not measured comes last either way. `order` has room for `count`. Not for fields whose text is
 * made up for the moment (reason): those are sorted by state.
 */
void rows_order(struct ordered_row *order, const struct row *rows, size_t count,
		const struct field *field, bool reverse, const struct about *about);

/*
 * Largest numbers first, strings in alphabetical order, what is not measured last; ties by pid and
 * tid. 0 or -ENOMEM.
 */
int rows_sort(struct row *rows, size_t count, const struct field *field,
	      const struct about *about) must_check;

#endif
