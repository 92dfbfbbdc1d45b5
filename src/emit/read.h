/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results that dwell wrote, read back: by the tables that wrote them. */
#ifndef DWELL_EMIT_READ_H
#define DWELL_EMIT_READ_H

#include <jansson.h>

#include "emit/schema.h"

/*
 * What an object of the schema has at a path, "scheduler.state"; NULL: this one does not have it. A
 * path that the schema does not have is a mistake of the caller, and ends the program: what is read
 * is what is written. The value belongs to the object.
 */
json_t *result_read(const struct schema *schema, const json_t *object, const char *path);

/* The same as a string; NULL: it is none. */
const char *result_read_string(const struct schema *schema, const json_t *object, const char *path);

/* Whether a line is a result of the schema: its type and version. */
bool result_is(const struct schema *schema, const json_t *line);

#endif
