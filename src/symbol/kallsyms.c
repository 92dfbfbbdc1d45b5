// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void kallsyms_begin(struct kallsyms_reader *reader, int fd)
{
	reader->fd = fd;
	reader->error = 0;
	reader->next = reader->length = 0;
	reader->at_end = false;
}

/* Behind the part of a line that is there; of one that fills the buffer, that part is dropped. */
static void read_more(struct kallsyms_reader *reader)
{
	size_t left = reader->length - reader->next;
	ssize_t got;

	if (left == sizeof(reader->buffer) - 1)
		left = 0;
	memmove(reader->buffer, reader->buffer + reader->next, left);
	do
		got = read(reader->fd, reader->buffer + left, sizeof(reader->buffer) - 1 - left);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		reader->error = errno;
	reader->at_end = got <= 0;
	reader->next = 0;
	reader->length = left + (got > 0 ? (size_t)got : 0);
}

/* Ended by NUL instead of the newline; NULL: no more. */
static char *next_line(struct kallsyms_reader *reader)
{
	for (;;) {
		char *line = reader->buffer + reader->next;
		char *end = memchr(line, '\n', reader->length - reader->next);

		if (end) {
			reader->next = (size_t)(end + 1 - reader->buffer);
		} else if (!reader->at_end) {
			read_more(reader);
			continue;
		} else if (reader->next == reader->length) {
			return NULL;
		} else {
			end = reader->buffer + reader->length;
			reader->next = reader->length;
		}
		*end = '\0';
		return line;
	}
}

/* As strtoull(), which looks at the locale and at signs first; NULL: it is not one. */
static char *read_address(char *text, uint64_t *ret_address)
{
	char *at = text;

	*ret_address = 0;
	for (;; at++) {
		unsigned int digit;

		if (*at >= '0' && *at <= '9')
			digit = (unsigned int)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			digit = (unsigned int)(*at - 'a') + 10;
		else
			return at == text ? NULL : at;
		*ret_address = *ret_address << 4 | digit;
	}
}

bool kallsyms_next(struct kallsyms_reader *reader, struct kallsyms_symbol *ret_symbol)
{
	char *line;

	while ((line = next_line(reader))) {
		char *rest = read_address(line, &ret_symbol->address);

		if (!rest || rest[0] != ' ' || !rest[1] || rest[2] != ' ' || !rest[3])
			continue;
		ret_symbol->type = rest[1];
		ret_symbol->name = rest + 3;
		rest[3 + strcspn(rest + 3, "\t ")] = '\0';
		return true;
	}
	return false;
}
