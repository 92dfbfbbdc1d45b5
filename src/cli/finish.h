/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a command ends: the rest of what it writes, or why it failed. */
#ifndef DWELL_CLI_FINISH_H
#define DWELL_CLI_FINISH_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/output.h"

/*
 * Writes what is left to standard output. 0, or a negative errno; an error without text if its
 * reader has closed the pipe, as head(1) does: it has what it wanted.
 */
int command_write(struct output *out, struct error *error) must_check;

/* "dwell NAME: text" on standard error, safe for a terminal; no text, no line. Returns `code`. */
int command_fail(const char *name, int code, const struct error *error);

#endif
