/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something failed, in words for a person: what failed, on what, why, and what to do.
 *
 * A function that can fail takes a `struct error *` last, fills it once, and returns the negative
 * errno that error_set() gives back. Callers add context with error_wrap(). Only src/command
 * prints.
 */
#ifndef DWELL_BASE_ERROR_H
#define DWELL_BASE_ERROR_H

#include "base/cleanup.h"

struct error {
	char text[640]; /* one line, no newline; "" = none */
};

/* Fills `error` (may be NULL) and returns -code. A nonzero code's meaning is not appended. */
__attribute__((format(printf, 3, 4))) int error_set(struct error *error, int code,
						    const char *format, ...);

/* Puts "context: " before the text. Returns `result` unchanged. */
__attribute__((format(printf, 3, 4))) int error_wrap(struct error *error, int result,
						     const char *format, ...);

#endif
