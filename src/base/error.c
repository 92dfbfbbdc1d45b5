// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error->text, sizeof(error->text), format, args);
		va_end(args);
	}
	return -code;
}

int error_wrap(struct error *error, int result, const char *format, ...)
{
	char text[sizeof(error->text)];
	va_list args;
	int length;

	if (!error)
		return result;
	memcpy(text, error->text, sizeof(text));
	va_start(args, format);
	length = vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	if (length >= 0 && (size_t)length < sizeof(error->text))
		snprintf(error->text + length, sizeof(error->text) - (size_t)length, ": %s", text);
	return result;
}
