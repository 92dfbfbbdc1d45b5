// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/web_accept.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define QUALITY_FULL 1000

/* What stands between two separators, without the blanks around it. */
struct part {
	const char *text;
	size_t length;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Returns where its separator is: ';', ',' or the end. */
static const char *take_part(const char *at, struct part *ret_part)
{
	bool is_quoted = false;

	while (is_blank(*at))
		at++;
	ret_part->text = at;
	for (; *at && (is_quoted || (*at != ';' && *at != ',')); at++) {
		if (*at == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && *at == '\\' && at[1])
			at++;
	}
	ret_part->length = (size_t)(at - ret_part->text);
	while (ret_part->length && is_blank(ret_part->text[ret_part->length - 1]))
		ret_part->length--;
	return at;
}

static bool is_name(const struct part *part, const char *name)
{
	return part->length == strlen(name) && !strncasecmp(part->text, name, part->length);
}

/* "1", or "0.5" with three digits at most; what is neither is 0. */
static int read_quality(const char *text, size_t length)
{
	int quality = 0, unit = QUALITY_FULL;

	for (size_t i = 0; i < length && unit; i++) {
		if (i == 1 && text[i] == '.')
			continue;
		if (text[i] < '0' || text[i] > '9')
			return 0;
		quality += unit * (text[i] - '0');
		unit /= 10;
	}
	return quality < QUALITY_FULL ? quality : QUALITY_FULL;
}

/* A name with its parameters. Returns where the next one begins, or the end. */
static const char *take_item(const char *at, struct part *ret_name, int *ret_quality)
{
	at = take_part(at, ret_name);
	*ret_quality = QUALITY_FULL;
	while (*at == ';') {
		struct part parameter;

		at = take_part(at + 1, &parameter);
		if (parameter.length >= 2 && !strncasecmp(parameter.text, "q=", 2))
			*ret_quality = read_quality(parameter.text + 2, parameter.length - 2);
	}
	return *at ? at + 1 : at;
}

static int quality_of(const char *list, const char *name)
{
	int best = -1;

	while (*list) {
		struct part part;
		int quality;

		list = take_item(list, &part, &quality);
		if (is_name(&part, name) && quality > best)
			best = quality;
	}
	return best;
}

int web_accept_quality(const char *list, const char *const *names)
{
	int quality = -1;

	for (; list && *names && quality < 0; names++)
		quality = quality_of(list, *names);
	return quality;
}
