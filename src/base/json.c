// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* As below, where the buffer has room: most of what a row takes. */
static char *put_key(char *at, bool comma, const char *key, size_t length)
{
	*at = ',';
	at += comma;
	*at++ = '"';
	memcpy(at, key, length);
	at += length;
	*at++ = '"';
	*at++ = ':';
	return at;
}

static void before_value(struct json *json, const char *key)
{
	size_t length = key ? strlen(key) : 0;
	char *at = key ? output_room(json->out, length + 4) : NULL;

	if (at) {
		json->out->used += (size_t)(put_key(at, json->comma, key, length) - at);
		json->comma = true;
		return;
	}
	if (json->comma)
		output_char(json->out, ',');
	json->comma = true;
	if (key) {
		output_char(json->out, '"');
		output_string(json->out, key);
		output_bytes(json->out, "\":", 2);
	}
}

static void begin(struct json *json, const char *key, char bracket)
{
	before_value(json, key);
	output_char(json->out, bracket);
	json->comma = false;
}

static void end(struct json *json, char bracket)
{
	output_char(json->out, bracket);
	json->comma = true;
}

void json_object_begin(struct json *json, const char *key)
{
	begin(json, key, '{');
}

void json_object_end(struct json *json)
{
	end(json, '}');
}

void json_array_begin(struct json *json, const char *key)
{
	begin(json, key, '[');
}

void json_array_end(struct json *json)
{
	end(json, ']');
}

void json_add_string(struct json *json, const char *key, const char *value)
{
	before_value(json, key);
	text_json(json->out, value);
}

void json_add_u64(struct json *json, const char *key, uint64_t value)
{
	before_value(json, key);
	output_u64(json->out, value);
}

void json_add_i64(struct json *json, const char *key, int64_t value)
{
	before_value(json, key);
	output_i64(json->out, value);
}

void json_add_fixed(struct json *json, const char *key, uint64_t whole, unsigned int thousandths)
{
	before_value(json, key);
	output_u64(json->out, whole);
	output_format(json->out, ".%03u", thousandths);
}

void json_add_share(struct json *json, const char *key, double value)
{
	before_value(json, key);
	output_format(json->out, "%.4f", value);
}

void json_add_double(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_add_null(json, key);
		return;
	}
	before_value(json, key);
	output_format(json->out, "%.6g", value);
}

void json_add_bool(struct json *json, const char *key, bool value)
{
	before_value(json, key);
	output_string(json->out, value ? "true" : "false");
}

void json_add_null(struct json *json, const char *key)
{
	before_value(json, key);
	output_string(json->out, "null");
}

void json_add_text(struct json *json, const char *key, const char *text)
{
	if (text && *text)
		json_add_string(json, key, text);
	else
		json_add_null(json, key);
}

void json_add_known(struct json *json, const char *key, uint64_t value, bool known)
{
	if (known)
		json_add_u64(json, key, value);
	else
		json_add_null(json, key);
}
