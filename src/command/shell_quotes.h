/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words as bash writes them. */
#ifndef DWELL_COMMAND_SHELL_QUOTES_H
#define DWELL_COMMAND_SHELL_QUOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/output.h"

/* Removes quotes in place, and expands nothing. The quote that is still open, or 0. */
char shell_unquote(char *word, size_t *ret_open);

/* Within `quote`, or 0: none. False: it cannot be written there. */
bool shell_write_quoted(struct output *out, const char *text, char quote);

#endif
