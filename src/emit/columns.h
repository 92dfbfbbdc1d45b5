/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A schema as columns: the single values of each row, however deep in objects they are. */
#ifndef DWELL_EMIT_COLUMNS_H
#define DWELL_EMIT_COLUMNS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "emit/schema.h"

#define COLUMN_DEPTH_MAX 4

struct column {
	unsigned int level; /* which object of the path to the row: 0 is the result */
	unsigned int depth; /* of `fields` */
	/* From that object to the value: the last one is the value itself. */
	const struct field *fields[COLUMN_DEPTH_MAX];
	const struct schema *schemas[COLUMN_DEPTH_MAX]; /* which have these fields */
	char *key;					/* "states_ns.user", in CSV */
	char *name; /* "user", for --fields and jq, which splits at dots and dashes */
};

/* From a result to its rows: at most a table in a table. */
#define COLUMN_LEVELS_MAX 3

struct columns {
	struct column *items;
	size_t count, room;
	unsigned int level_count; /* objects in a path, 1: the result alone */
	const struct schema *schemas[COLUMN_LEVELS_MAX]; /* of the objects in the path */
	const struct field *tables[COLUMN_LEVELS_MAX];	 /* field i leads from object i to i + 1 */
};

/* All columns of the schema's table. 0 or -ENOMEM. */
int columns_init(struct columns *columns, const struct schema *schema,
		 unsigned int levels) must_check;

void columns_release(struct columns *columns);

/* Keeps all but those that are there only on request. */
void columns_by_default(struct columns *columns);

/* Keeps those of a list, "pid,comm,runnable", in its order. -EINVAL, with a guess; -ENOMEM. */
int columns_select(struct columns *columns, const char *list, struct error *error) must_check;

/* Its value in a row; what an object is missing for is null. */
void column_get(const struct column *column, const struct item *path, struct value *ret_value);

#endif
