/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results as text, for all commands alike: one file for each format, one line in `formats`.
 *
 * JSON has the whole object; formats of rows (CSV, JSON lines) have the rows of its table, each
 * with the columns of `columns_init()`.
 */
#ifndef DWELL_EMIT_EMIT_H
#define DWELL_EMIT_EMIT_H

#include "base/error.h"
#include "base/output.h"
#include "emit/columns.h"
#include "emit/order.h"
#include "emit/schema.h"

struct format;

struct emit {
	const struct format *format;
	const struct schema *schema; /* of the results */
	unsigned int levels;	     /* which view of it: field.levels */
	struct output *out;	     /* not owned */
	bool is_cut;		     /* in a table: what is longer than its column */
	struct columns columns;	     /* formats of rows: what each has, */
	struct value *values;	     /* and has in the row at hand */
	struct order order;
	struct columns ordering;      /* with an order: of the table, only the column to sort by */
	struct ordered_rows *ordered; /* rows that wait to be sorted; NULL: none do */
};

struct format {
	const char *name;
	const char *help;
	bool has_rows;
	/* Once, before the first result; may be NULL. */
	void (*begin)(const struct emit *emit);
	/* NULL: the whole object is not written, only its rows. */
	void (*object)(const struct emit *emit, const struct item *item);
	void (*row)(const struct emit *emit); /* of emit->values, one for each column */
	void (*end)(const struct emit *emit);
};

/* All there are, as --format names them; the table is the first in lists. */
#define FORMATS_BESIDE_TABLE(X) X(json) X(jsonl) X(csv)
#define FORMATS(X)		X(table) FORMATS_BESIDE_TABLE(X)

#define X(name)			extern const struct format format_##name;
FORMATS(X)
#undef X

extern const struct format *const formats[];
extern const size_t format_count;

/* NULL: no such format. */
const struct format *format_find(const char *name);

/*
 * `fields`: names of columns, separated by commas; NULL: all. `order`: of the rows of each result's
 * table, in JSON of the list in the object; NULL: as they come. -EINVAL for a column that does not
 * exist, with a guess; -ENOMEM.
 */
int emit_begin(struct emit *emit, const struct format *format, const struct schema *schema,
	       unsigned int levels, const char *fields, const struct order *order,
	       struct output *out, struct error *error) must_check;

/* The list whose rows the order is of; NULL: no order, or the result is the row. */
const struct field *emit_ordered_list(const struct emit *emit);

/* Of a row whose objects are in `path`, what it is sorted by; false: by nothing. */
bool emit_order_value(const struct emit *emit, const struct item *path, struct value *ret_value);

/* One result. What cannot be written stays in output.error. */
void emit_result(const struct emit *emit, const struct item *item);

/* All results have been written. */
void emit_end(struct emit *emit);

/* An object alone, as a line of JSON. */
void emit_json_line(struct output *out, const struct schema *schema, const struct item *item);

/* A single value; what is an object or a list, or not there, is null. */
void emit_json_value(struct json *json, const char *key, const struct value *value);

/* An object within what else is written. */
void emit_json_object(struct json *json, const char *key, const struct schema *schema,
		      const struct item *item);

#endif
