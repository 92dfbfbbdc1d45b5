// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/finish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/print.h"
#include "base/text.h"

int command_write(struct output *out, struct error *error)
{
	int result = output_flush(out);

	if (result >= 0)
		return 0;
	if (out->error == EPIPE)
		return error_set(error, EPIPE, "%s", "");
	return error_set(error, out->error, "cannot write to standard output: %s",
			 limits_strerror(out->error));
}

int command_fail(const char *name, int code, const struct error *error)
{
	char text[sizeof(error->text) * 2];

	if (!*error->text)
		return code;
	text_printable(text, sizeof(text), error->text, sizeof(text));
	print_text(stderr, "dwell %s: %s\n", name, text);
	return code;
}
