// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

void json_key(struct json *json, const char *key)
{
	if (json->comma)
		output_char(json->out, ',');
	output_char(json->out, '"');
	output_string(json->out, key);
	output_bytes(json->out, "\":", 2);
	json->comma = false;
}

static void before_value(struct json *json, const char *key)
{
	if (key)
		json_key(json, key);
	else if (json->comma)
		output_char(json->out, ',');
	json->comma = true;
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

void json_add_made(struct json *json, const char *key, const char *value)
{
	before_value(json, key);
	output_string(json->out, value);
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
