// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strchrnul */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define READ_BYTES 65536

int kallsyms_read(int fd, char **ret_text)
{
	cleanup_free char *text = NULL;
	size_t room = 0, length = 0;

	for (;;) {
		ssize_t got;

		/* doubled when it is full: what is not written to is no memory */
		if (array_reserve(&text, &room, length + READ_BYTES, 1) < 0)
			return -ENOMEM;
		got = read(fd, text + length, room - length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		length += (size_t)got;
	}
	text[length] = '\0';
	*ret_text = text;
	text = NULL;
	return 0;
}

bool kallsyms_next(char **at, struct kallsyms_symbol *ret_symbol)
{
	while (**at) {
		char *line = *at, *end = strchrnul(line, '\n'), *rest;

		*at = *end ? end + 1 : end;
		*end = '\0';
		ret_symbol->address = strtoull(line, &rest, 16);
		if (rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ' || !rest[3])
			continue;
		ret_symbol->type = rest[1];
		ret_symbol->name = rest + 3;
		rest[3 + strcspn(rest + 3, "\t ")] = '\0';
		return true;
	}
	return false;
}
