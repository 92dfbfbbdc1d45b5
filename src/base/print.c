// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/print.h"

#include <stdarg.h>

#include "base/text.h"

void print_text(FILE *to, const char *format, ...)
{
	/* enough for every message, also for the one that there is no memory */
	char room[2048], *text;
	va_list args;
	size_t length;

	va_start(args, format);
	text = text_format(room, sizeof(room), &length, format, args);
	va_end(args);
	fwrite(text ? text : room, 1, length, to);
	if (text != room)
		free(text);
}
