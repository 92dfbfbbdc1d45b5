// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* vasprintf */
#include "base/print.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "base/text.h"

void print_text(FILE *to, const char *format, ...)
{
	cleanup_free char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		text = NULL;
	else
		fwrite(text, 1, text_tame(text, (size_t)length, format), to);
}
