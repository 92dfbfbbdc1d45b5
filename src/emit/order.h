/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of rows, and how many of them: --sort and --top, in every format alike. Text ascends,
 * numbers descend, what is not measured comes last; equal rows keep their order.
 */
#ifndef DWELL_EMIT_ORDER_H
#define DWELL_EMIT_ORDER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/output.h"
#include "emit/schema.h"

struct order {
	const char *field; /* name of a column; NULL: the rows stay in their order */
	size_t top;	   /* 0: all */
};

/* What a row is sorted by; it outlives the row. */
struct order_key {
	size_t index; /* among the rows */
	bool is_missing, is_text;
	long double number; /* every uint64_t exactly where it has 64 bits of mantissa */
	char *text;	    /* owned */
};

/* 0 or -ENOMEM. */
int order_key_set(struct order_key *key, const struct value *value, size_t index) must_check;
void order_key_release(struct order_key *key);

/* For qsort(). */
int order_keys_compare(const void *left, const void *right);

/* Rows that have been written, until the last one is known. */
struct ordered_rows {
	struct output text; /* all rows, one after the other */
	struct ordered_row_text *rows;
	size_t count, room;
	size_t begin; /* of the row that is being written */
};

/* 0 or -ENOMEM; what fails later stays in text.error. */
int ordered_rows_init(struct ordered_rows *rows) must_check;
void ordered_rows_release(struct ordered_rows *rows);

/* What has been written to `text` since the last call is a row; `value` NULL: as the others. */
void ordered_rows_add(struct ordered_rows *rows, const struct value *value);

/* The first `top` (0: all), with `separator` between two. */
void ordered_rows_write(struct ordered_rows *rows, struct output *out, size_t top,
			const char *separator);

#endif
