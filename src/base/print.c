// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* vasprintf */
#include "base/print.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "base/text.h"

void print_text(FILE *to, const char *format, ...)
{
	/* enough for every message, also that there is no memory */
	char room[2048], *text = room;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(room, sizeof(room), format, args);
	va_end(args);
	if (length >= (int)sizeof(room)) {
		va_start(args, format);
		if (vasprintf(&text, format, args) < 0) {
			text = room;
			length = (int)sizeof(room) - 1;
		}
		va_end(args);
	}
	if (length > 0)
		fwrite(text, 1, text_tame(text, (size_t)length, format), to);
	if (text != room)
		free(text);
}
