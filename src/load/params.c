// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/similar.h"
#include "base/size.h"

static void *place(const struct param *param, void *values)
{
	return (char *)values + param->offset;
}

int params_init(const struct param *params, void *values)
{
	for (const struct param *param = params; param && param->name; param++)
		if (param->initial && param_set(param, values, param->initial, NULL) < 0)
			return -ENOMEM;
	return 0;
}

void params_release(const struct param *params, void *values)
{
	for (const struct param *param = params; param && param->name; param++) {
		if (param->kind != PARAM_TEXT)
			continue;
		free(*(char **)place(param, values));
		*(char **)place(param, values) = NULL;
	}
}

const struct param *params_find(const struct param *params, const char *name)
{
	for (const struct param *param = params; param && param->name; param++)
		if (similar_same(param->name, name))
			return param;
	return NULL;
}

/* For people: a limit in the unit of the parameter. */
static void limit_text(char *into, size_t room, enum param_kind kind, uint64_t limit)
{
	if (kind == PARAM_DURATION)
		duration_format(into, room, limit);
	else if (kind == PARAM_SIZE)
		size_format(into, room, limit);
	else
		snprintf(into, room, "%llu", (unsigned long long)limit);
}

static int check_limits(const struct param *param, uint64_t value, const char *text,
			struct error *error)
{
	char limit[32];

	if (value < param->min) {
		limit_text(limit, sizeof(limit), param->kind, param->min);
		return error_set(error, EINVAL, "%s: %s is too small; at least %s", param->name,
				 text, limit);
	}
	if (param->max && value > param->max) {
		limit_text(limit, sizeof(limit), param->kind, param->max);
		return error_set(error, EINVAL, "%s: %s is too large; at most %s", param->name,
				 text, limit);
	}
	return 0;
}

static int read_count(const struct param *param, const char *text, uint64_t *ret_value,
		      struct error *error)
{
	char *end;

	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return error_set(error, EINVAL, "%s: '%s' is not a whole number", param->name,
				 text);
	return 0;
}

static int read_choice(const struct param *param, const char *text, uint64_t *ret_value,
		       struct error *error)
{
	char known[256] = "";

	for (uint64_t i = 0; param->choices[i]; i++) {
		size_t used = strlen(known);

		if (similar_same(param->choices[i], text)) {
			*ret_value = i;
			return 0;
		}
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
			 param->choices[i]);
	}
	return error_set(error, EINVAL, "%s: unknown '%s'; use one of %s", param->name, text,
			 known);
}

static int set_share(const struct param *param, double *share, const char *text,
		     struct error *error)
{
	char *end;
	double value = strtod(text, &end);

	if (end != text && *end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0) || !(value <= 1))
		return error_set(error, EINVAL,
				 "%s: '%s' is not a share: use 0 to 1, or a percentage",
				 param->name, text);
	*share = value;
	return 0;
}

static int set_text(char **into, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*into);
	*into = copy;
	return 0;
}

int param_set(const struct param *param, void *values, const char *text, struct error *error)
{
	uint64_t value = 0;
	int result = 0;

	switch (param->kind) {
	case PARAM_COUNT:
		result = read_count(param, text, &value, error);
		break;
	case PARAM_DURATION:
		/* where nothing is allowed, 0 needs no unit */
		if (param->min || strcmp(text, "0") != 0)
			result = duration_parse(text, &value, error);
		break;
	case PARAM_SIZE:
		result = size_parse(text, &value, error);
		break;
	case PARAM_CHOICE:
		result = read_choice(param, text, &value, error);
		break;
	case PARAM_SHARE:
		return set_share(param, place(param, values), text, error);
	case PARAM_TEXT:
		result = set_text(place(param, values), text);
		return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	}
	if (result < 0)
		return param->kind == PARAM_DURATION || param->kind == PARAM_SIZE
			       ? error_wrap(error, result, "%s", param->name)
			       : result;
	result = check_limits(param, value, text, error);
	if (result >= 0)
		*(uint64_t *)place(param, values) = value;
	return result;
}

/* In the largest unit that keeps it whole. */
static void write_duration(struct output *out, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", NS_PER_S}, {"ms", NS_PER_MS}, {"us", NS_PER_US}, {"ns", 1}};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	output_u64(out, ns / units[i].ns);
	if (ns)
		output_string(out, units[i].name);
}

void param_write(struct output *out, const struct param *param, const void *values)
{
	const void *at = (const char *)values + param->offset;
	const char *text = param->kind == PARAM_TEXT ? *(char *const *)at : NULL;

	switch (param->kind) {
	case PARAM_COUNT:
		output_u64(out, *(const uint64_t *)at);
		break;
	case PARAM_DURATION:
		write_duration(out, *(const uint64_t *)at);
		break;
	case PARAM_SIZE:
		if (*(const uint64_t *)at % 1024 == 0)
			output_format(out, "%lluK", *(const unsigned long long *)at / 1024);
		else
			output_u64(out, *(const uint64_t *)at);
		break;
	case PARAM_SHARE:
		output_format(out, "%g", *(const double *)at);
		break;
	case PARAM_CHOICE:
		output_string(out, param->choices[*(const uint64_t *)at]);
		break;
	case PARAM_TEXT:
		output_string(out, text ? text : "");
		break;
	}
}
