// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/status_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/print.h"
#include "base/text.h"
#include "base/window.h"

void status_line_begin(struct status_line *line, bool wanted)
{
	*line = (struct status_line){.shown = wanted && isatty(STDERR_FILENO)};
}

size_t status_line_columns(void)
{
	unsigned int columns = window_columns(STDERR_FILENO);

	return columns ? columns - 1 : 79;
}

void status_line_show(struct status_line *line, const char *format, ...)
{
	char text[1024], shown[1024];
	va_list arguments;

	if (!line->shown)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	text_printable(shown, sizeof(shown), text, status_line_columns());
	print_text(stderr, "\r%s\033[K", shown);
	line->drawn = true;
}

void status_line_clear(struct status_line *line)
{
	if (line->drawn)
		fputs("\r\033[K", stderr);
	line->drawn = false;
}
