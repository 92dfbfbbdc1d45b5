/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far something is: one line on standard error, drawn in place, if that is a terminal. */
#ifndef DWELL_BASE_STATUS_LINE_H
#define DWELL_BASE_STATUS_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* All zeros: nothing is shown. */
struct status_line {
	bool shown; /* standard error is a terminal */
	bool drawn; /* there is a line to clear */
};

/* Not `wanted`: nothing is shown. */
void status_line_begin(struct status_line *line, bool wanted);

/* Replaces what it shows, cut to the terminal's width: a line that wraps could not be cleared. */
__attribute__((format(printf, 2, 3))) void status_line_show(struct status_line *line,
							    const char *format, ...);

/* Before anything else is written. */
void status_line_clear(struct status_line *line);

/* How many columns of a terminal's line can be cleared. */
size_t status_line_columns(void);

#endif
