/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a row of an interval has to show: its schema, and the orders that it can be sorted in. */
#ifndef DWELL_VIEW_FIELDS_H
#define DWELL_VIEW_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emit/schema.h"
#include "model/group.h"
#include "model/interval.h"
#include "model/reason.h"

/* Of the rows of an interval; getters take the struct session_info as context. */
extern const struct schema thread_schema;

extern const struct field fields[];
extern const size_t field_count;

/* The value of a field; null where the session does not measure it. */
void field_get(const struct field *field, const struct row *row, const struct session_info *session,
	       struct value *ret_value);

/*
 * By its name, or by its heading in tables or key in JSON ("RUNQ", "in_state_ns"), where no other
 * has that name. As similar_same() compares. NULL: no such field to sort by.
 */
const struct field *field_find(const char *name);

/* Whether rows of such a view can be sorted by it. */
bool field_orders(const struct field *field, unsigned int levels);

/* A row and its place in an order, of which many are sorted without asking for values again. */
struct ordered_row {
	const struct row *row;
	uint64_t number;
	const char *string; /* NULL: a number; into the row, the session or a constant */
	uint64_t tie;	    /* pid and tid */
	bool missing;
};

/*
 * Sorts references to rows by a field: as rows_sort(), or the other way round with `reverse`. What
 * is not measured comes last either way. `order` has room for `count`. Not for fields whose text is
 * made up for the moment (reason): those are sorted by state.
 */
void rows_order(struct ordered_row *order, const struct row *rows, size_t count,
		const struct field *field, bool reverse, const struct session_info *session);

/*
 * Largest numbers first, strings in alphabetical order, what is not measured last; ties by pid and
 * tid. 0 or -ENOMEM.
 */
int rows_sort(struct row *rows, size_t count, const struct field *field,
	      const struct session_info *session) must_check;

#endif
