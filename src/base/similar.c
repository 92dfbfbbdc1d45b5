// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/similar.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define LETTERS 64

/* So many letters, with which a name begins, may stand for it. */
#define BEGINNING 3

/* So many letters may differ, of so many each. */
#define DISTANCE_MAX 2
#define LETTERS_EACH 3

/* A heading may have "CPU%", a key "cpu_time". */
static bool is_ignored(char c)
{
	return c == '-' || c == '_' || c == '%';
}

/* Lower case, without what does not count. Returns the length. */
static size_t letters_of(char into[LETTERS], const char *name)
{
	size_t length = 0;

	for (; *name && length < LETTERS - 1; name++)
		if (!is_ignored(*name))
			into[length++] = (char)tolower((unsigned char)*name);
	into[length] = '\0';
	return length;
}

bool similar_same(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (is_ignored(*a))
			a++;
		while (is_ignored(*b))
			b++;
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
	}
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

size_t similar_distance(const char *a, const char *b)
{
	char x[LETTERS], y[LETTERS];
	size_t rows[3][LETTERS]; /* of the matrix: this one and the two before */
	size_t n = letters_of(x, a), m = letters_of(y, b);

	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t swap = x[i - 1] == y[j - 1] ? 0 : 1;

			row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + swap);
			if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
				row[j] = least(row[j], second[j - 2] + 1, row[j]);
		}
	}
	return rows[n % 3][m];
}

void similar_try(struct similar *similar, const char *candidate)
{
	size_t length = strlen(similar->wanted);
	size_t distance = similar_distance(similar->wanted, candidate);

	if (length >= BEGINNING && !strncasecmp(similar->wanted, candidate, length))
		distance = 1;
	/* with two letters changed, any word of four is many others */
	if (distance > DISTANCE_MAX || distance * LETTERS_EACH > strlen(candidate))
		return;
	if (!similar->best || distance < similar->distance) {
		similar->best = candidate;
		similar->distance = distance;
	}
}

int similar_error(struct error *error, int code, const struct similar *similar,
		  const char *otherwise, const char *format, ...)
{
	char said[sizeof(error->text)], *text;
	size_t length;
	va_list args;

	va_start(args, format);
	text = text_format(said, sizeof(said), &length, format, args);
	va_end(args);
	if (similar->best)
		(void)error_set(error, code, "%s; did you mean '%s'?", text ? text : said,
				similar->best);
	else
		(void)error_set(error, code, "%s%s", text ? text : said, otherwise);
	if (text != said)
		free(text);
	return -code;
}

void similar_choice(char *into, size_t room, const char *wanted, const char *choices)
{
	struct similar similar = {.wanted = wanted};
	const char *best = NULL;
	size_t best_length = 0, best_distance = 0, length;
	char word[LETTERS];

	for (const char *at = choices; *at; at += length) {
		at += strspn(at, " ,");
		length = strcspn(at, " ,");
		if (!length || length >= sizeof(word) || (length == 2 && !strncmp(at, "or", 2)))
			continue;
		memcpy(word, at, length);
		word[length] = '\0';
		similar.best = NULL;
		similar_try(&similar, word);
		if (!similar.best || (best && similar.distance >= best_distance))
			continue;
		best = at;
		best_length = length;
		best_distance = similar.distance;
	}
	snprintf(into, room, "%.*s", (int)best_length, best ? best : "");
}
