/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streaming JSON writer: commas and quotes, no tree. The caller nests begin and end correctly; keys
 * are our own and need no escaping, string values may be any bytes.
 */
#ifndef DWELL_BASE_JSON_H
#define DWELL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/output.h"

struct json {
	struct output *out;
	bool comma; /* the next value in this object or array needs one before it */
};

/* What comes next is the value of `key`, and has NULL for its own. */
void json_key(struct json *json, const char *key);

/* `key` is NULL inside arrays and at the top. */
void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);
void json_add_string(struct json *json, const char *key, const char *value);
/* A value that is JSON already. */
void json_add_made(struct json *json, const char *key, const char *value);
void json_add_u64(struct json *json, const char *key, uint64_t value);
void json_add_i64(struct json *json, const char *key, int64_t value);
/* `whole` and thousandths: 12.034 */
void json_add_fixed(struct json *json, const char *key, uint64_t whole, unsigned int thousandths);
/* A number with four decimals: shares. */
void json_add_share(struct json *json, const char *key, double value);
/* Six significant digits; null if it is not finite. */
void json_add_double(struct json *json, const char *key, double value);
void json_add_bool(struct json *json, const char *key, bool value);
void json_add_null(struct json *json, const char *key);

#endif
