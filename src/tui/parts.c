// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/parts.h"

#include <stdarg.h>
#include <stdio.h>

#define PART_BYTES 96

int parts_width(const struct canvas *canvas, const char *text)
{
	struct canvas nowhere = {.rows = 0, .columns = 1 << 20, .ascii = canvas->ascii};

	return canvas_text(&nowhere, 0, 0, 1 << 20, ROLE_NORMAL, text);
}

bool parts_fit(const struct parts *parts, int width)
{
	return parts->at + width <= parts->end;
}

void parts_add(struct parts *parts, enum role role, const char *format, ...)
{
	char text[PART_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!parts_fit(parts, parts_width(parts->canvas, text)))
		return;
	parts->at += 2 + canvas_text(parts->canvas, parts->row, parts->at, parts->canvas->columns,
				     role, text);
}
